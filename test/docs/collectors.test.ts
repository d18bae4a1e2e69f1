import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { panelsOf } from '../../lib/profiler/panels/index.js'
import { newest } from '../support/app.js'

const ROOT = join(import.meta.dirname, '../..')

t.test('the example of docs/how-to/collectors.md runs as it stands', async t => {
  const [, code = ''] = /```js\n([^]*?)```/.exec(readFileSync(join(ROOT, 'docs/how-to/collectors.md'), 'utf8')) ?? []
  t.equal(code.split('\n').slice(3, -1).length, 8, 'ten lines with what it imports')
  // Its store, of which nothing is said, is that of the test alone.
  const folder = t.testdir()
  process.chdir(folder)
  t.teardown(() => process.chdir(ROOT))
  const file = join(folder, 'example.mjs')
  writeFileSync(file, code.replace("'fastify-hindsight'", JSON.stringify(pathToFileURL(join(ROOT, 'app/index.ts')))))
  const { app } = await import(pathToFileURL(file).href) as { app: FastifyInstance }
  t.teardown(() => app.close())
  t.equal((await app.inject('/')).body, 'done')
  const profile = await newest(app)
  t.same(profile.collectors.queries, ['select 1 < 2'])
  const panel = panelsOf(profile).find(({ name }) => name === 'queries')
  t.equal(panel?.label, 'SQL')
  t.equal(panel?.count?.(profile), 1)
  t.equal(panel?.render(profile), '<ol><li>select 1 &#60; 2</li></ol>')
})
