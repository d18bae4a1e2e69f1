import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { hindsight } from '../../packages/hindsight/src/hindsight.js'
import type { Collector, Part } from '../../packages/hindsight/src/parts/part.js'
import { countOf, labelOf, renderPanel } from '../../packages/hindsight/src/parts/read.js'
import { testdir } from '../../packages/hindsight/test/support/folder.js'
import { newest } from '../../packages/hindsight/test/support/app.js'
import { ROOT, runSnippet, snippetsOf, type Snippet } from '../../packages/hindsight/test/support/snippets.js'
import { withoutMarks } from '../../packages/hindsight/test/support/marks.js'

t.test('the example of docs/how-to/collectors.md runs as it stands', async t => {
  const [snippet] = snippetsOf('docs/how-to/collectors.md').filter(({ language }) => language === 'js')
  // Its store, of which nothing is said, is that of the test alone.
  const folder = testdir(t)
  process.chdir(folder)
  t.teardown(() => process.chdir(ROOT))
  const { app } = await runSnippet(snippet as Snippet, folder) as { app: FastifyInstance }
  t.teardown(() => app.close())
  t.equal((await app.inject('/')).body, 'done')
  const profile = await newest(app)
  t.same(profile.collectors.sql, ['select 1 < 2'])
  const { parts } = app.hindsight
  const part = parts.find(({ name }) => name === 'sql') as Part
  t.equal(labelOf(part), 'SQL')
  t.equal(countOf(part, profile), 1)
  t.equal(String(renderPanel(part, profile, { query: {}, editor: null, parts })), '<ol><li>select 1 &#60; 2</li></ol>')
})

t.test('the part of docs/how-to/collectors.md appears in each view', async (t) => {
  const [, snippet] = snippetsOf('docs/how-to/collectors.md').filter(({ language }) => language === 'js')
  const folder = testdir(t)
  const { queries } = await runSnippet(snippet as Snippet, folder) as { queries: Collector }
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(hindsight, { debug: true, profiler: { storage: 'memory', collectors: [queries] } })
  app.decorateRequest('queries', null as unknown[] | null)
  app.get('/', async (request) => {
    Object.assign(request, { queries: [{ sql: 'select 1 from orders', start: 1, duration: 2, error: 'locked' }] })
    return 'done'
  })
  await app.inject('/')
  const { token } = await newest(app)
  const page = async (url: string): Promise<string> => (await app.inject({ url: `/_profiler/${url}`, headers: { accept: 'text/html' } })).body
  t.match(await page(`${token}?panel=timeline`), /<span>select 1 from orders<\/span>[^]*href="\?panel=sql"/)
  t.match(await page(token), '<dt>SQL</dt><dd>1 queries</dd>')
  t.match(withoutMarks(await page(`${token}.md`)), /## Hint\n\nA query failed[^]*## SQL\n\n```text\nselect 1 from orders\n```/)
  t.match(await page(`${token}/compare/${token}.json`), '"name":"sql","label":"SQL"')
  t.match(await page('search.json?q=table:orders'), `"token":"${token}"`)
})
