import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { testdir } from '../../../packages/hindsight/test/support/folder.js'
import { newest } from '../../../packages/hindsight/test/support/app.js'
import { ROOT, runSnippet, snippetsOf, type Snippet } from '../../../packages/hindsight/test/support/snippets.js'

t.test('the example of docs/how-to/opentelemetry.md runs as it stands', async (t) => {
  const [snippet] = snippetsOf('docs/how-to/opentelemetry.md').filter(({ language }) => language === 'js')
  // Its store is that of the test alone.
  const folder = testdir(t)
  process.chdir(folder)
  t.teardown(() => process.chdir(ROOT))
  const { app } = await runSnippet(snippet as Snippet, folder) as { app: FastifyInstance }
  t.teardown(() => app.close())
  t.equal((await app.inject('/')).body, 'done')
  t.match((await newest(app)).collectors.spans, { count: 1, spans: [{ name: 'find articles', scope: 'shop', attributes: { articles: 3 } }] })
})
