import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { script, style } from '../../../lib/view/asset.js'
import { testdir } from '../../support/folder.js'

const folder = testdir(t, {})
const base = pathToFileURL(join(folder, 'x.ts')).href

t.test('comments and optional spaces are removed from a stylesheet', async (t) => {
  writeFileSync(join(folder, 'a.css'), [
    '/* why */', 'a > b, c :hover { margin: calc(1px + 2px) 0; content: "a  b" / "" }',
    '@media (min-width: 60rem) { .d::before { color: red; } }', ':is(e, f) g + h { --x: light-dark(#fff, #000) }', ''
  ].join('\n'))
  t.equal(style(base, './a.css'), 'a>b,c :hover{margin:calc(1px + 2px) 0;content:"a  b" / ""}@media (min-width: 60rem){.d::before{color:red}}:is(e,f) g + h{--x:light-dark(#fff,#000)}')
})

t.test('comment lines are removed from a script', async (t) => {
  writeFileSync(join(folder, 'a.js'), '// why\nfoo("http://x") // stays\n  // why\nbar()\n')
  t.equal(script(base, './a.js'), 'foo("http://x") // stays\nbar()\n')
})

t.test('an asset that would end its element is refused', async (t) => {
  const folder = testdir(t, { 'good.css': '/* why */\na {\n  b: c }\n', 'bad.js': 'x = "</script>"' })
  mkdirSync(join(folder, 'sub'))
  writeFileSync(join(folder, 'sub', 'base.ts'), '')
  const base = pathToFileURL(join(folder, 'sub', 'base.ts')).href
  t.equal(style(base, '../good.css'), 'a{b:c}')
  t.throws(() => script(base, '../bad.js'), /would end/)
})
