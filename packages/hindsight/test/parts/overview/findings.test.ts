import { setImmediate } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { JSDOM } from 'jsdom'
import t from 'tap'
import type { Data } from '../../../src/parts/read.js'
import { queries } from '../../../src/parts/queries/index.js'
import { findingsOf } from '../../../src/parts/queries/findings.js'
import { recordQuery } from '../../../src/queries/observe.js'
import type { Profile } from '../../../src/store/profile.js'
import { profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'
import { withoutMarks } from '../../support/marks.js'
import { recordedFrom, times, type Sent } from '../queries/sent.js'

const send = (statement: string, rows = 1, parameters: unknown[] = []): void =>
  recordQuery({ system: 'postgresql', statement, parameters })({ rows })

t.test('equal findings are one', t => {
  const textsOf = (sent: readonly Sent[]): string[] => findingsOf(recordedFrom(sent), 10_000, 100).map(({ text }) => text)
  const read = (i: number, ms = 4): Sent => ({ from: 'a.js:3', sql: 'select name from item where id = $1', parameters: [i], ms })
  const other = (i: number): Sent => ({ ...read(i), from: 'a.js:9' })
  t.same(textsOf(times(4, (i) => [read(i), other(i)])), [
    'The same query: `select name from item where id = ?` 8 times with 4 different values from src/a.js:3 and src/a.js:9'
  ])
  t.same(textsOf(times(4, (i) => read(i, 120 + i))), ['`select name from item where id = ?` took up to 123 ms, 4 times, from src/a.js:3'])
  t.end()
})

inBothProducts('the first sentence is the worst finding, on the overview and in Markdown, and lists have it', async (t, build) => {
  const app = await build((app) => {
    app.get('/two', async () => {
      send('select id from orders', 6)
      for (let i = 0; i < 6; i++) send('select * from item where id = $1', 1, [i])
      send('select id from users', 7)
      for (let i = 0; i < 7; i++) send('select name from team where id = $1', 1, [i])
      return 'x'
    })
    app.get('/none', async () => 'x')
    app.get('/failed', async () => {
      for (let i = 0; i < 6; i++) send('select * from item where id = $1', 1, [i])
      throw new Error('no stock')
    })
  })
  const first = /^N\+1: `select \* from item where id = \?` 6 times from \S*findings\.test\.ts:\d+ after the 6 rows of \S*:\d+, .* \(and \d more findings?\)\.$/
  const read = async (url: string) => {
    const response = await app.inject(url)
    const profile = await profileOf(app, response) as unknown as Profile
    const path = `/_profiler/${String(response.headers['x-debug-token'])}`
    const page = JSDOM.fragment((await app.inject(path)).body)
    return { profile, page, lead: page.querySelector('.lead'), markdown: withoutMarks((await app.inject(`${path}.md`)).body) }
  }
  const { page, lead, markdown, profile } = await read('/two')
  t.match(lead?.textContent, new RegExp(first.source.replaceAll('`', '')))
  t.equal(lead?.querySelector('code')?.textContent, 'select * from item where id = ?', 'the statement is code')
  t.equal(lead?.className, 'lead warn')
  t.match(page.querySelector('.facts-list')?.textContent, /select \* from item[^]*select name from team/, 'both are named')
  t.match(/## What happened\n\n([^]*?)\n\n/.exec(markdown)?.[1]?.replaceAll('\\', ''), first)
  const none = await read('/none')
  t.notMatch(none.markdown, /N\+1/)
  t.not(none.lead?.className, 'lead bad')
  const failed = await read('/failed')
  t.match(failed.lead?.textContent, /^Error: no stock/, 'why it failed comes first')
  t.equal(failed.lead?.className, 'lead bad')
  t.match(queries.issue?.(profile.collectors.queries as Data, profile), /^N\+1: .*\(and 1 more finding\)$/)
})

inBothProducts('what happened has what a response lacks, a hook that ran twice, and the nearest route', async (t, build) => {
  const schema = { response: { 200: { type: 'object', properties: { id: { type: 'integer' } } } } }
  const app = await build((app) => {
    app.get('/undefined', async () => {})
    app.get('/empty', async (_request, reply) => { await reply.code(204).send() })
    app.get('/dropped', { schema }, async () => ({ id: 1, name: 'a', email: 'b' }))
    app.get('/whole', { schema }, async () => ({ id: 1 }))
    app.get('/api/v1/users/:id', async () => 'x')
    for (const [path, count] of [['/once', 1], ['/twice', 2], ['/often', 3]] as const) {
      app.register(async (scope) => {
        const plugin = fp(async (scope: FastifyInstance) => { scope.addHook('onRequest', async function auth () {}) })
        for (let i = 0; i < count; i++) await scope.register(plugin)
        scope.get(path, async () => 'x')
      })
    }
  })
  const place = String.raw`\(\S*findings\.test\.ts:\d+\)`
  for (const [url, sentence] of [
    ['/undefined', `The response has no body: the handler returned undefined ${place}\\.`],
    ['/empty', null],
    ['/dropped', 'The response schema dropped response\\.name, response\\.email\\.'],
    ['/whole', null],
    ['/once', null],
    ['/twice', `The onRequest hook "auth".* ${place} ran twice\\.`],
    ['/often', `The onRequest hook "auth".* ${place} ran 3 times\\.`],
    ['/api/users/1', '\\d routes are declared, and none matches\\. GET /api/v1/users/:id nearly matches: "/v1" is missing in the path\\.']
  ] as const) {
    const path = `/_profiler/${String((await app.inject(url)).headers['x-debug-token'])}`
    const page = JSDOM.fragment((await app.inject(path)).body)
    const shown = [...page.querySelectorAll('.lead, .lead ~ p')].map(({ textContent }) => textContent).join('\n')
    const markdown = /## What happened\n\n([^]*?)\n\n## /.exec(withoutMarks((await app.inject(`${path}.md`)).body))?.[1]?.replaceAll('\\', '')
    for (const text of [shown, markdown]) {
      if (sentence === null) t.notMatch(text, /no body|dropped|ran (?:twice|\d)|nearly/, url)
      else t.match(text, new RegExp(sentence), url)
    }
  }
})

inBothProducts('the sentence counts what came after the response', async (t, build) => {
  let late: Promise<void> = Promise.resolve()
  const app = await build((app) => app.get('/', async (_request, reply) => {
    late = (async () => {
      while (!reply.raw.writableFinished) await setImmediate()
      await setImmediate()
      send('update job set done = true')
    })()
    return 'x'
  }))
  const response = await app.inject('/')
  await late
  const path = `/_profiler/${String(response.headers['x-debug-token'])}.md`
  let markdown = ''
  while (!markdown.includes('update job')) markdown = (await app.inject(path)).body
  t.match(/## What happened\n\n([^]*?)\n\n/.exec(withoutMarks(markdown))?.[1], /^.*[^.]\. After the response: 1 query\.$/)
})
