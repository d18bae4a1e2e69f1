import { inBothProducts } from '../support/products.js'

const headers = { accept: 'text/html' }

inBothProducts('each of many failures at once has its page', async (t, build) => {
  const app = await build((app) => { app.get('/', async () => { throw new Error('boom') }) })
  const answers = await Promise.all(Array.from({ length: 60 }, () => app.inject({ url: '/', headers })))
  t.ok(answers.every(({ statusCode, body }) => statusCode === 500 && body.includes('<title>') && body.includes('boom')))
})

inBothProducts('of an AggregateError few stacks are read', async (t, build) => {
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

inBothProducts('many handlers that end without "return reply" are answered once, without a warning', async (t, build) => {
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
