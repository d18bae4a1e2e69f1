import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Script } from 'node:vm'
import t from 'tap'
import { script, style } from '../../../lib/view/asset.js'
import * as theme from '../../../lib/view/theme.js'
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

t.test('the theme switch is a hidden button with valid scripts', async (t) => {
  t.equal(theme.render(), '<button type="button" class="theme-switch" hidden><span class="label">Theme: </span><span>system</span></button>')
  for (const text of [theme.boot, theme.script]) t.doesNotThrow(() => new Script(text), 'it is a script')
})
