import { connect } from 'node:net'
import { inBothModes } from '../../support/modes.js'

const headers = { accept: 'text/html' }

inBothModes('each of many failures at once has its page', async (t, build) => {
  const app = await build((app) => { app.get('/', async () => { throw new Error('boom') }) })
  const answers = await Promise.all(Array.from({ length: 60 }, () => app.inject({ url: '/', headers })))
  t.ok(answers.every(({ statusCode, body }) => statusCode === 500 && body.includes('<title>') && body.includes('boom')))
})

inBothModes('of an AggregateError few stacks are read', async (t, build) => {
  const read = new Set<number>()
  const app = await build((app) => {
    app.get('/', async () => {
      throw new AggregateError(Array.from({ length: 1_000 }, (_, i) => Object.defineProperty(new Error(`number ${i}`), 'stack', {
        get () { read.add(i); return `Error: number ${i}` }
      })), 'all')
    })
  }, {}, { logger: false })
  const { statusCode, body } = await app.inject({ url: '/', headers })
  t.equal(statusCode, 500)
  t.match(body, 'of its 1,000 errors are left out')
  t.ok(read.size > 0 && read.size <= 100, `${read.size} stacks`)
})

inBothModes('many handlers that end without "return reply" are answered once, without a warning', async (t, build) => {
  const warnings: string[] = []
  const stream = { write: (line: string) => { if (line.includes('already sent') || line.includes('FST_ERR_SEND')) warnings.push(line) } }
  const app = await build((app) => {
    app.get('/gone', async (_request, reply) => { reply.callNotFound() })
    app.get('/sent', async (_request, reply) => { reply.send(new Error('sent')) })
    app.get('/own', async (_request, reply) => { reply.code(500).send({ own: true }) })
  }, {}, { logger: { level: 'warn', stream } })
  const expected = [['/gone', 404, '<title>'], ['/sent', 500, '<title>'], ['/own', 500, '{"own":true}']] as const
  await Promise.all(Array.from({ length: 60 }, async (_, i) => {
    const [url, status, text] = expected[i % expected.length] as typeof expected[number]
    const { statusCode, body } = await app.inject({ url, headers })
    t.equal(statusCode, status)
    t.match(body, text)
  }))
  t.same(warnings, [])
})

inBothModes('when pages have taken long in one turn of the event loop, further ones of that turn are short', async (t, build) => {
  const app = await build((app) => {
    app.get('/', async () => { throw new Error('slow') })
    app.get('/next', async () => { throw new Error('<boom> password=hunter22') })
  }, {}, { logger: false })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  // With this clock each page takes longer than the bound.
  const { now } = performance
  let time = now.call(performance)
  performance.now = () => { return (time += 210) }
  const [complete, short, link] = await pipelined(origin).finally(() => { performance.now = now })
  t.match(complete, '<h2')
  t.match(short, 'HTTP/1.1 500')
  t.match(short, '&#60;boom&#62; password=******')
  t.notMatch(short, '<h2')
  t.notMatch(short, 'hunter22')
  t.match(short, /cache-control: no-store/i)
  t.match(await text(link), 'many-failures.test.ts', 'the profile has the place')
  t.match(await text(`${origin}/next`), '<h2', 'a page of a later turn is complete')
})

/** Requests `/` and `/next` in one message; returns both responses and the link in the second one. */
async function pipelined (origin: string): Promise<[first: string, second: string, link: string]> {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1').setEncoding('utf8')
  const request = (url: string, connection: string) =>
    `GET ${url} HTTP/1.1\r\nhost: ${new URL(origin).host}\r\naccept: text/html\r\nconnection: ${connection}\r\n\r\n`
  socket.write(request('/', 'keep-alive') + request('/next', 'close'))
  const received = (await socket.toArray()).join('')
  const [first = '', second = ''] = received.split(/(?=HTTP\/1\.1 \d{3} [A-Za-z ]+\r\n)/)
  return [first, second, /<a href="([^"]+)">/.exec(second)?.[1] ?? '']
}

async function text (url: string): Promise<string> {
  const response = await fetch(url, { headers: { accept: 'text/html' } })
  return await response.text()
}
