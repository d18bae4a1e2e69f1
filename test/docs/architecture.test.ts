import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { testdir } from '../../packages/hindsight/test/support/folder.js'
import { ROOT, runSnippet, snippetsOf } from '../../packages/hindsight/test/support/snippets.js'

const PAGE = 'docs/architecture.md'
/** The folder that the page names `src/`. */
const PACKAGE = 'packages/hindsight/src/'
const text = readFileSync(join(ROOT, PAGE), 'utf8')

t.test('the files that are named exist', async (t) => {
  const named = new Set([...text.matchAll(/`((?:app|lib|plugins|routes|src|test|bench)\/[\w./-]+)`/g)].map(([, file = '']) => file))
  // An example of a folder that a user may have.
  named.delete('routes/blogs/')
  t.ok(named.size > 40, `${named.size} files and folders`)
  for (const file of named) t.ok(existsSync(join(ROOT, file.replace(/^src\//, PACKAGE))), file)
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
