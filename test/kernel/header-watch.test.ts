import t from 'tap'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OutsideChange } from '../../plugins/kernel/header-trail.js'
import { stateOf } from '../../plugins/kernel/request-state.js'
import { build, type BuildOptions } from '../support/app.js'

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown

/** What was noted of a request whose handler is this, as lines. */
async function noted (handler: Handler, options: BuildOptions = {}): Promise<{ trail: string[], headers: object }> {
  let changes: OutsideChange[] | undefined
  const app = await build({
    ...options,
    declare (app) {
      app.get('/', (request, reply) => {
        changes = stateOf(request).recorder?.trail?.changes
        return handler(request, reply)
      })
    }
  })
  const { headers } = await app.inject('/')
  await app.close()
  return { headers, trail: (changes ?? []).map(({ via, name, from, to, cookie }) => `${via} ${name} ${String(from)} ${String(to)}${cookie === undefined ? '' : ` ${cookie}`}`) }
}

t.test('each way to change a header outside of the listeners is noted, with what was there and what is', async (t) => {
  for (const [name, handler, expected] of [
    ['reply', async (_request, reply) => {
      reply.type('text/csv')
      reply.removeHeader('content-type')
      reply.header('X-One', '1')
      reply.headers({ 'content-type': 'text/plain' })
      return 'x'
    }, ['reply.type content-type undefined text/csv', 'reply.removeHeader content-type text/csv undefined', 'reply.header x-one undefined 1', 'reply.header content-type undefined text/plain']],
    ['what was there already', async (_request, reply) => reply.header('x-one', '1').header('x-one', '1').removeHeader('x-two').send('x'), ['reply.header x-one undefined 1']],
    ['a list that grows', async (_request, reply) => reply.header('set-cookie', 'a=1').header('set-cookie', 'b=2').send('x'),
      ['reply.header set-cookie undefined a=1', 'reply.header set-cookie a=1 a=1,b=2']],
    ['cookies', async (_request, reply) => reply.setCookie('a', '1').clearCookie('b').send('x'), ['reply.setCookie set-cookie undefined undefined a', 'reply.clearCookie set-cookie undefined undefined b']],
    ['a redirect', async (_request, reply) => reply.redirect('/x'), ['reply.header location undefined /x']],
    ['the response of Node.js', async (_request, reply) => {
      reply.raw.setHeader('X-Raw', 'r')
      reply.raw.appendHeader('x-raw', 's')
      reply.raw.removeHeader('x-raw')
      return 'x'
    }, ['reply.raw.setHeader x-raw undefined r', 'reply.raw.appendHeader x-raw r r,s', 'reply.raw.removeHeader x-raw r,s undefined']],
    ['what Node.js does by other functions of its own is noted once', async (_request, reply) => {
      reply.raw.appendHeader('x-raw', 's')
      return 'x'
    }, ['reply.raw.appendHeader x-raw undefined s']],
    ['a name that all objects have', async (_request, reply) => reply.header('constructor', '1').send('x'), ['reply.header constructor undefined 1']],
    ['its head', (_request, reply) => {
      reply.hijack()
      reply.raw.writeHead(200, { 'X-Head': '1' }).end('x')
    }, ['reply.raw.writeHead x-head undefined 1']],
    ['its head with a reason', (_request, reply) => {
      reply.hijack()
      reply.raw.writeHead(200, 'Fine', ['X-Head', '1', 'X-Other', '2', 'x-other', '3'] as never).end('x')
    }, ['reply.raw.writeHead x-head undefined 1', 'reply.raw.writeHead x-other undefined 2,3']],
    ['what Fastify hands over ahead of a stream is not', async (_request, reply) => {
      const { Readable } = await import('node:stream')
      return reply.header('x-one', '1').send(Readable.from(['x']))
    }, ['reply.header x-one undefined 1']]
  ] satisfies Array<[string, Handler, string[]]>) {
    t.same((await noted(handler)).trail, expected, name)
  }
})

t.test('a loop is bounded', async (t) => {
  const { trail } = await noted(async (_request, reply) => {
    for (let i = 0; i < 1_000; i++) reply.header('x-one', String(i))
    return 'x'
  })
  t.equal(trail.length, 100)
})

t.test('outside debug mode nothing is noted', async (t) => {
  const { trail, headers } = await noted(async (_request, reply) => reply.header('x-one', '1').send('x'), { debug: false, profiler: { production: true } })
  t.same(trail, [])
  t.match(headers, { 'x-one': '1' })
})

t.test('the limit of stacks is as it was', async (t) => {
  const before = Error.stackTraceLimit
  let after = 0
  await noted(async (_request, reply) => {
    const limit = Error.stackTraceLimit
    reply.header('x-one', '1')
    after = Error.stackTraceLimit - limit
    return 'x'
  })
  t.equal(after, 0)
  t.ok(Error.stackTraceLimit >= before)
})
