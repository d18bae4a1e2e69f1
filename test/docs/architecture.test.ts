import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { lifecycle } from '../../app/lifecycle.js'
import { testdir } from '../support/folder.js'
import { ROOT, runSnippet, snippetsOf } from '../support/snippets.js'

const PAGE = 'docs/architecture.md'
const text = readFileSync(join(ROOT, PAGE), 'utf8')

t.test('the files that are named exist', async (t) => {
  const named = new Set([...text.matchAll(/`((?:app|cli|lib|plugins|routes|test|bench)\/[\w./-]+)`/g)].map(([, file = '']) => file))
  // An example of a folder that a user may have.
  named.delete('routes/blogs/')
  t.ok(named.size > 40, `${named.size} files and folders`)
  for (const file of named) t.ok(existsSync(join(ROOT, file)), file)
})

t.test('the pages that count the listeners have the number of app/lifecycle.ts', async (t) => {
  const { length } = Object.values(lifecycle).flat()
  const pages = [
    'README.md', ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.md')).map((file) => `docs/${file}`)
  ]
  const counts = pages.flatMap(
    (page) => [...readFileSync(join(ROOT, page), 'utf8').matchAll(/\b(\d{2})\s+listeners\b/g)].map(([, count]) => [page, Number(count)])
  )
  t.ok(counts.length > 3)
  t.same(counts.filter(([, count]) => count !== length), [], `pages that do not have the number ${length}`)
})

t.test('a subscriber of tracing:fastify.request.handler changes the status of an error handler', async (t) => {
  const { code = '' } = snippetsOf(PAGE).find(({ code }) => code.includes('setErrorHandler')) ?? {}
  const { declare } = await runSnippet(
    { code: `export function declare (app) {\n${code}}\n`, language: 'js', mark: '', place: PAGE }, testdir(t)
  ) as { declare: (app: FastifyInstance) => void }
  const status = async (): Promise<number> => {
    const app = Fastify() as unknown as FastifyInstance
    t.teardown(() => app.close())
    declare(app)
    app.get('/', async () => { throw new Error('broken') })
    return (await app.inject('/')).statusCode
  }
  t.equal(await status(), 200, 'without a subscriber')
  const channel = 'tracing:fastify.request.handler:start'
  const nothing = (): void => {}
  subscribe(channel, nothing)
  t.teardown(() => unsubscribe(channel, nothing))
  t.equal(await status(), 500, 'with one; when this fails, Fastify no longer differs, and the channel may be used')
})
