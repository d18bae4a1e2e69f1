import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { readAsset } from '../../src/view/asset.js'
import { testdir } from '../support/folder.js'

const folder = testdir(t, {})
const base = pathToFileURL(join(folder, 'x.ts')).href

t.test('comments and indentation are removed from a stylesheet', async (t) => {
  writeFileSync(join(folder, 'a.css'), '/* why */\n@media (min-width: 60rem) {\n  .d::before { color: red; }\n}\n')
  t.equal(readAsset(base, './a.css'), '@media (min-width: 60rem) {\n.d::before { color: red; }\n}\n')
})

t.test('comment lines are removed from a script', async (t) => {
  writeFileSync(join(folder, 'a.js'), '// why\nfoo("http://x") // stays\n  // why\nbar()\n')
  t.equal(readAsset(base, './a.js'), 'foo("http://x") // stays\nbar()\n')
})

t.test('an asset that would end its element is refused', async (t) => {
  const folder = testdir(t, { 'good.css': '/* why */\na {\n  b: c }\n', 'bad.js': 'x = "</script>"' })
  mkdirSync(join(folder, 'sub'))
  writeFileSync(join(folder, 'sub', 'base.ts'), '')
  const base = pathToFileURL(join(folder, 'sub', 'base.ts')).href
  t.equal(readAsset(base, '../good.css'), 'a {\nb: c }\n')
  t.throws(() => readAsset(base, '../bad.js'), /would end/)
})
