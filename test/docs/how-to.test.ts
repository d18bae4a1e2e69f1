import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import t from 'tap'
import { testdir } from '../../packages/hindsight/test/support/folder.js'
import { build, profileOf } from '../../packages/hindsight/test/support/app.js'
import { ROOT, runSnippet, snippetsOf, type Snippet } from '../../packages/hindsight/test/support/snippets.js'

const folder = testdir(t)
process.chdir(folder)
t.teardown(() => process.chdir(ROOT))

function marked (page: string, wanted: string): Snippet {
  const found = snippetsOf(`docs/how-to/${page}.md`).find(({ mark }) => mark === wanted)
  if (found === undefined) throw new Error(`${page} has no piece marked "${wanted}"`)
  return found
}

t.test('existing-application.md: a plugin of fastify-cli is at the root', async (t) => {
  const { default: plugin } = await runSnippet(marked('existing-application', 'run: fastify-cli'), folder) as { default: FastifyPluginAsync }
  t.equal(plugin.length, 2, 'fastify-cli refuses an async function with fewer parameters')
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(plugin)
  t.ok((await app.inject('/nowhere')).headers['x-debug-token'], 'unknown URLs leave profiles')
})

t.test('profile-one-request.md', async (t) => {
  process.env.PROFILE_KEY = 'correct-horse'
  process.env.NODE_ENV = 'production'
  t.teardown(() => {
    delete process.env.PROFILE_KEY
    delete process.env.NODE_ENV
  })
  const { app } = await runSnippet(marked('profile-one-request', 'run: one request'), folder) as { app: FastifyInstance }
  t.teardown(() => app.close())
  const responses = [{}, { 'x-profile-key': 'wrong' }, { 'x-profile-key': 'correct-horse' }].map((headers) => app.inject({ url: '/', headers }))
  for (const { headers, body } of await Promise.all(responses)) t.same([headers['x-debug-token'], body], [undefined, '{"hello":"world"}'])
  await app.hindsight.profiler.flush()
  const { profiles } = await app.hindsight.profiler.search({ limit: 10 })
  t.equal(profiles.length, 1)
  const profile = await app.hindsight.profiler.find(String(profiles[0]?.token))
  t.equal(profile?.status, 200)
  t.notMatch(JSON.stringify(profile), /correct-horse/)
})

/** What MikroORM 7 has of a connection and its logger: it reports a query that has ended, a long way below the call. */
const MIKRO_ORM = `
export class DefaultLogger {
  constructor (options) { this.options = options }
  isEnabled () { return false }
  logQuery (context) { if (this.isEnabled('query', context)) this.options.writer(context.query) }
}
export class Connection {
  constructor ({ loggerFactory }) { this.logger = loggerFactory({ writer: console.log, usesReplicas: false }) }
  async execute (query, params, depth = 12) {
    if (depth > 0) return await this.execute(query, params, depth - 1)
    const now = Date.now()
    const context = { connection: { type: 'write', name: ':memory:' }, params }
    try {
      await new Promise((resolve) => setTimeout(resolve, 1))
      if (query.includes('nowhere')) throw new Error('no such table: nowhere')
      const rows = /^update/.test(query) ? [] : Array.from({ length: params.length === 0 ? 6 : 1 }, (_, i) => ({ id: i + 1 }))
      const counts = /^update/.test(query) ? { affected: 1 } : { results: rows.length }
      this.logger.logQuery({ level: 'info', ...context, took: Date.now() - now, ...counts, query })
      return rows
    } catch (error) {
      this.logger.logQuery({ level: 'error', ...context, took: Date.now() - now, query })
      throw error
    }
  }
}
`

interface Connection { execute: (query: string, params: unknown[]) => Promise<Array<{ id: number }>> }

t.test('queries.md: a logger of MikroORM', async (t) => {
  const core = join(folder, 'node_modules/@mikro-orm/core')
  mkdirSync(core, { recursive: true })
  writeFileSync(join(core, 'package.json'), '{ "type": "module", "exports": "./index.js" }')
  writeFileSync(join(core, 'index.js'), MIKRO_ORM)
  const { Connection } = await import(pathToFileURL(join(core, 'index.js')).href) as { Connection: new (options: object) => Connection }
  const connection = new Connection(await runSnippet(marked('queries', 'run: MikroORM'), folder))
  const app = await build(t, {}, (app) => app.get('/', async () => {
    const books = await connection.execute('select b0.* from book as b0', [])
    for (const { id } of books) await connection.execute('select a0.* from author as a0 where a0.id = ? limit ?', [id, 1])
    await connection.execute('update author set name = ?, password = ? where id = ?', ['ann', 'Hidd3n', 3])
    await connection.execute('select * from nowhere', []).catch(() => {})
  }))
  const profile = await profileOf(app, await app.inject('/'))
  const { queries, findings } = profile.collectors.queries as { queries: object[], findings: object[] }
  const line = String.raw`docs/how-to\.test\.ts:\d+`
  t.match(findings, [{ kind: 'n+1', text: new RegExp(`6 times from .*${line} after the 6 rows of .*${line}, `) }])
  t.match([queries[0], ...queries.slice(7)], [
    { system: 'sqlite', statement: 'select b0.* from book as b0', rows: 6, duration: Number },
    { parameters: ['******', '******', 3], rows: 1 }, { error: { message: 'The query failed' } }
  ])
})
