import type { FastifyInstance } from 'fastify'
import t from 'tap'
import type { Part } from '../../lib/parts/part.js'
import { countOf, labelOf, renderPanel } from '../../lib/parts/read.js'
import { testdir } from '../support/folder.js'
import { newest } from '../support/app.js'
import { ROOT, runSnippet, snippetsOf, type Snippet } from '../support/snippets.js'

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
  t.same(profile.collectors.queries, ['select 1 < 2'])
  const { parts } = app.hindsight
  const part = parts.find(({ name }) => name === 'queries') as Part
  t.equal(labelOf(part), 'SQL')
  t.equal(countOf(part, profile), 1)
  t.equal(renderPanel(part, profile, { query: {}, editor: null, parts }), '<ol><li>select 1 &#60; 2</li></ol>')
})
