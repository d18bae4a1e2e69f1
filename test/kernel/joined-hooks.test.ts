import { inspect } from 'node:util'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import { keptBy } from '../../plugins/kernel/fastify-symbols.js'
import { joinHooks, requestHook, sendHook } from '../../plugins/kernel/joined-hooks.js'
import { ownHook, type Run } from '../../plugins/kernel/own-hooks.js'
import { Answer, Raise, Skip } from '../../plugins/kernel/verdict.js'

/** An application of which each hook says that it ran; its first one joins the others. */
function application (before: Record<string, Run>, after: Record<string, Run> = {}): { app: FastifyInstance, ran: string[] } {
  const app = Fastify()
  const ran: string[] = []
  const said = (name: string, run: Run): Run => (request, reply, payload) => {
    ran.push(name)
    return run(request, reply, payload)
  }
  app.addHook('onRequest', ownHook(function first (request: FastifyRequest, reply: FastifyReply, done: () => void) {
    joinHooks(request)
    done()
  }, null, () => () => undefined))
  for (const [name, given] of Object.entries(before)) {
    const run = said(name, given)
    const hook = requestHook([run])
    app.addHook('onRequest', name.startsWith('of the application') ? hook : ownHook(hook, null, () => run))
  }
  for (const [name, given] of Object.entries(after)) {
    const run = said(name, given)
    const hook = sendHook([run])
    app.addHook('onSend', name.startsWith('of the application') ? hook : ownHook(hook, null, () => run))
  }
  app.get('/', async () => 'handled')
  return { app, ran }
}

/** What is answered, and what has run, for the first request and for those behind it. */
async function answers (t: Test, { app, ran }: ReturnType<typeof application>): Promise<Array<{ status: number, body: string, ran: string[] }>> {
  t.teardown(() => app.close())
  const all = []
  for (let i = 0; i < 3; i++) {
    ran.length = 0
    const { statusCode, body } = await app.inject('/')
    all.push({ status: statusCode, body: statusCode === 500 ? (JSON.parse(body) as { message: string }).message : body, ran: [...ran] })
  }
  return all
}

const nothing: Run = () => undefined
const later = (value: unknown): Run => async () => await Promise.resolve(value)

const cases: Array<{ name: string, before: Record<string, Run>, after?: Record<string, Run>, status: number, body: string, ran: string[] }> = [
  { name: 'nothing to say', before: { a: nothing, b: () => new Skip('nothing'), c: nothing }, status: 200, body: 'handled', ran: ['a', 'b', 'c'] },
  { name: 'some later', before: { a: later(undefined), b: later(new Skip('nothing')), c: nothing }, status: 200, body: 'handled', ran: ['a', 'b', 'c'] },
  { name: 'between them', before: { a: nothing, b: nothing, 'of the application': nothing, c: nothing, d: nothing }, status: 200, body: 'handled', ran: ['a', 'b', 'of the application', 'c', 'd'] },
  { name: 'an answer', before: { a: nothing, b: () => new Answer('answered'), c: nothing }, after: { d: nothing, e: nothing }, status: 200, body: 'answered', ran: ['a', 'b', 'd', 'e'] },
  { name: 'a later answer', before: { a: later(undefined), b: later(new Answer('answered')), c: nothing }, after: { d: nothing, e: nothing }, status: 200, body: 'answered', ran: ['a', 'b', 'd', 'e'] },
  { name: 'an answer of its own', before: { a: nothing, b: (_request, reply) => { reply.send('sent') }, c: nothing }, status: 200, body: 'sent', ran: ['a', 'b'] },
  { name: 'raised', before: { a: nothing, b: () => new Raise(new Error('raised')), c: nothing }, after: { d: nothing, e: nothing }, status: 500, body: 'raised', ran: ['a', 'b', 'd', 'e'] },
  { name: 'thrown', before: { a: nothing, b: () => { throw new Error('thrown') }, c: nothing }, status: 500, body: 'thrown', ran: ['a', 'b'] },
  { name: 'thrown behind one that was later', before: { a: later(undefined), b: () => { throw new Error('thrown') }, c: nothing }, status: 500, body: 'thrown', ran: ['a', 'b'] },
  { name: 'rejected', before: { a: nothing, b: async () => { throw new Error('rejected') }, c: nothing }, status: 500, body: 'rejected', ran: ['a', 'b'] },
  // eslint-disable-next-line prefer-promise-reject-errors -- that is what is tried
  { name: 'rejected with nothing', before: { a: nothing, b: () => Promise.reject(undefined), c: nothing }, status: 500, body: 'A listener raised undefined', ran: ['a', 'b'] },
  ...['', 0, false, NaN, 0n, null].flatMap((falsy): typeof cases => [
    { name: `thrown ${inspect(falsy)}`, before: { a: nothing, b: () => { throw falsy }, c: nothing }, status: 500, body: `A listener raised ${inspect(falsy)}`, ran: ['a', 'b'] },
    { name: `rejected with ${inspect(falsy)}`, before: { a: nothing, b: () => Promise.reject(falsy), c: nothing }, status: 500, body: `A listener raised ${inspect(falsy)}`, ran: ['a', 'b'] },
    { name: `a response that fails with ${inspect(falsy)}`, before: {}, after: { a: nothing, b: (_request, reply) => { if (reply.statusCode === 200) throw falsy }, c: nothing }, status: 500, body: `A listener raised ${inspect(falsy)}`, ran: ['a', 'b', 'a', 'b', 'c'] }
  ]),
  { name: 'other payloads', before: {}, after: { a: (_request, _reply, payload) => `${String(payload)} a`, b: later('later'), c: nothing, d: (_request, _reply, payload) => `${String(payload)} d` }, status: 200, body: 'later d', ran: ['a', 'b', 'c', 'd'] },
  { name: 'a payload with one of the application between', before: {}, after: { a: nothing, b: (_request, _reply, payload) => `${String(payload)} b`, 'of the application': (_request, _reply, payload) => `${String(payload)} x`, c: later(undefined), d: later(new Skip('nothing')) }, status: 200, body: 'handled b x', ran: ['a', 'b', 'of the application', 'c', 'd'] },
  { name: 'a response that fails', before: {}, after: { a: nothing, b: (_request, reply) => { if (reply.statusCode === 200) throw new Error('thrown') }, c: nothing }, status: 500, body: 'thrown', ran: ['a', 'b', 'a', 'b', 'c'] },
  { name: 'a response that fails later', before: {}, after: { a: later(undefined), b: async (_request, reply) => { if (reply.statusCode === 200) throw new Error('rejected') }, c: nothing }, status: 500, body: 'rejected', ran: ['a', 'b', 'a', 'b', 'c'] }
]

t.test('joined hooks do what they do one by one', async (t) => {
  for (const { name, before, after, ...wanted } of cases) {
    await t.test(name, async (t) => {
      t.strictSame(await answers(t, application(before, after)), [wanted, wanted, wanted])
    })
  }
})

t.test('a route has one hook for those that follow each other, and the instance keeps all', async (t) => {
  const { app } = application({ a: nothing, b: nothing, 'of the application': nothing, c: nothing }, { d: nothing, e: nothing })
  t.teardown(() => app.close())
  const seen: Array<Record<string, number | undefined>> = []
  app.get('/count', async (request) => {
    const { onRequest, onSend } = keptBy<Record<'onRequest' | 'onSend', unknown[]>>(request, 'fastify.context') ?? {}
    seen.push({ onRequest: onRequest?.length, onSend: onSend?.length })
  })
  await app.inject('/count')
  t.strictSame(seen, [{ onRequest: 3, onSend: 1 }])
  const kept = keptBy<Record<'onRequest' | 'onSend', unknown[]>>(app, 'fastify.hooks')
  t.strictSame([kept?.onRequest.length, kept?.onSend.length], [5, 2])
})

t.test('hooks of a route that somebody else has replaced are left alone', async (t) => {
  const ran: string[] = []
  let context: Record<'onRequest', Array<(...args: unknown[]) => unknown>> | undefined
  const other = Fastify()
  t.teardown(() => other.close())
  other.addHook('onRequest', ownHook(function first (request: FastifyRequest, _reply: FastifyReply, done: () => void) {
    context = keptBy<NonNullable<typeof context>>(request, 'fastify.context')
    if (context !== undefined) context.onRequest = [...context.onRequest].map((hook) => (...args: unknown[]) => hook(...args))
    joinHooks(request)
    done()
  }, null, () => () => undefined))
  for (const name of ['a', 'b']) other.addHook('onRequest', ownHook(requestHook([() => { ran.push(name) }]), null, () => () => { ran.push(`${name} joined`) }))
  other.get('/', async () => 'handled')
  for (let i = 0; i < 2; i++) await other.inject('/')
  t.strictSame(ran, ['a', 'b', 'a', 'b'])
  t.equal(context?.onRequest.length, 3)
})

t.test('a hook whose name cannot be read is left alone', async (t) => {
  const { app, ran } = application({ a: nothing, b: nothing })
  const named = (descriptor: PropertyDescriptor): (request: unknown, reply: unknown, done: () => void) => void => Object.defineProperty((_request: unknown, _reply: unknown, done: () => void) => { done() }, 'name', descriptor)
  app.addHook('preHandler', named({ value: Symbol('x') }))
  app.addHook('preHandler', ownHook(requestHook([nothing]), null, () => nothing))
  const wanted = { status: 200, body: 'handled', ran: ['a', 'b'] }
  t.strictSame(await answers(t, { app, ran }), [wanted, wanted, wanted])
})

t.test('hooks that have nothing to do for a route are passed over from its second request on', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const ran: string[] = []
  const contexts = new Map<string, { preHandler: unknown[] | null } | undefined>()
  app.addHook('onRequest', ownHook(function first (request: FastifyRequest, _reply: FastifyReply, done: () => void) {
    contexts.set(request.url, keptBy(request, 'fastify.context'))
    joinHooks(request)
    done()
  }, null, () => () => undefined))
  const ofOthers = (name: string): Parameters<typeof ownHook>[2] => (config) => (config as { others?: boolean }).others === true ? () => { ran.push(`${name} joined`) } : null
  for (const name of ['a', 'b']) app.addHook('preHandler', ownHook(requestHook([() => { ran.push(name) }]), null, ofOthers(name)))
  app.addHook('onSend', ownHook(sendHook([() => { ran.push('c') }]), null, ofOthers('c')))
  app.addHook('onSend', async function ofTheApplication () { ran.push('own') })
  app.get('/', async () => 'handled')
  app.get('/others', { config: { others: true } as object }, async () => 'handled')
  for (const [url, expected] of [['/', ['own']], ['/others', ['a joined', 'b joined', 'c joined', 'own']]] as const) {
    for (let i = 0; i < 3; i++) {
      ran.length = 0
      t.equal((await app.inject(url)).payload, 'handled')
      t.strictSame(ran, expected)
    }
  }
  t.equal(contexts.get('/others')?.preHandler?.length, 1)
  t.equal(contexts.get('/')?.preHandler, null, 'as Fastify has it where there are none')
})
