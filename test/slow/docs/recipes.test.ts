import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { testdir } from '../../../packages/hindsight/test/support/folder.js'
import { build } from '../../../packages/hindsight/test/support/app.js'
import { postgresServer } from '../../../packages/hindsight/test/support/postgres.js'
import { runSnippet, snippetsOf, type Snippet } from '../../../packages/hindsight/test/support/snippets.js'

const PROXY = 'docs/how-to/proxy.md'
const MACHINES = 'docs/how-to/several-machines.md'
const marked = (page: string, wanted: string): Snippet => {
  const found = snippetsOf(page).find(({ mark }) => mark === wanted)
  if (found === undefined) throw new Error(`${page} has no piece marked "${wanted}"`)
  return found
}

t.test('behind a proxy', async (t) => {
  const { app } = await runSnippet(marked(PROXY, 'run'), testdir(t)) as { app: FastifyInstance }
  await app.close()
  t.pass('what it asserts holds')
})

t.test('nginx sends the headers that a trusted proxy needs', async (t) => {
  const { code = '' } = snippetsOf(PROXY).find(({ language }) => language === 'nginx') ?? {}
  t.match(code, /^location \/ \{\n(?: {2}\w+ [^;{}]+;\n)+\}\n$/, 'directives, each with its end')
  const values: Record<string, string> = { $host: 'shop.example', $remote_addr: '203.0.113.7', $scheme: 'https' }
  const sent = [...code.matchAll(/proxy_set_header ([\w-]+) (\S+);/g)].map(([, name = '', value = '']) => [name.toLowerCase(), values[value] ?? '']).filter(
    ([, value]) => value !== ''
  )
  const app = await build({
    server: { trustProxy: ['127.0.0.1'] },
    trustedProxies: ['127.0.0.1'],
    declare: (app) => app.get('/', async ({ ip, host, protocol }) => ({ ip, host, protocol }))
  })
  t.teardown(() => app.close())
  t.same(
    (await app.inject({ url: '/', headers: Object.fromEntries(sent) as Record<string, string> })).json(),
    { ip: '203.0.113.7', host: 'shop.example', protocol: 'https' }
  )
})

t.test('several machines', async (t) => {
  const postgres = await postgresServer(t)
  if (postgres === null) return
  const before = process.env.STORAGE_URL
  process.env.STORAGE_URL = postgres.url
  t.teardown(() => {
    if (before === undefined) delete process.env.STORAGE_URL
    else process.env.STORAGE_URL = before
  })
  await runSnippet(marked(MACHINES, 'run with PostgreSQL'), testdir(t))
  t.pass('what it asserts holds')
  const tables = await postgres.psql("select schemaname || '.' || tablename from pg_tables where schemaname !~ '^(pg_|information_schema)' order by 1")
  t.same(tables.split('\n'), ['hindsight.form_secret', 'hindsight.profile_totals', 'hindsight.profiles'])
})
