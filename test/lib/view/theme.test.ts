import { Script } from 'node:vm'
import t from 'tap'
import * as theme from '../../../lib/view/theme.js'

t.test('the theme switch is a hidden button with valid scripts', async (t) => {
  t.equal(theme.button, '<button type="button" class="theme-switch" hidden><span class="label">Theme: </span><span>system</span></button>')
  for (const text of [theme.boot, theme.script]) t.doesNotThrow(() => new Script(text), 'it is a script')
})
