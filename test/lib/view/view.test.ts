import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { JSDOM } from 'jsdom'
import t from 'tap'
import { script, style } from '../../../lib/view/asset.js'
import { html } from '../../../lib/view/html.js'
import { safeJson } from '../../../lib/view/json.js'
import { escapeMarkdown } from '../../../lib/view/markdown.js'
import { cut, visible, visibleLine } from '../../../lib/view/visible.js'
import { testdir } from '../../support/folder.js'

t.test('visible replaces control characters', async (t) => {
  const cases: Array<[text: string, shown: string]> = [
    ['plain äöü 😀', 'plain äöü 😀'],
    ['two\nlines\tand a tab', 'two\nlines\tand a tab'],
    ['a\0b\x1bc\rd\x7f', 'a␀b␛c␍d␡'],
    ['\u0085', '⟨U+0085⟩'],
    ['\u202egnp.exe\u202c', '⟨U+202E⟩gnp.exe⟨U+202C⟩'],
    ['\u2066\u2069\u200e\u200f\u061c', '⟨U+2066⟩⟨U+2069⟩⟨U+200E⟩⟨U+200F⟩⟨U+061C⟩'],
    ['\ud800x\udc00', '\ufffdx\ufffd']
  ]
  for (const [text, shown] of cases) t.equal(visible(text), shown, JSON.stringify(text))
  t.equal(visibleLine('a\r\nb\tc'), 'a␍␊b c')
})

t.test('cut truncates with the number of omitted characters', async (t) => {
  t.equal(cut('abc', 3), 'abc')
  t.equal(cut('x'.repeat(12_345), 45), 'x'.repeat(45) + '… (12,300 more characters)')
})

t.test('html escapes in text and in attributes', async (t) => {
  const hostile = '"\'`><b onclick=alert(1)>&amp;</script>\0\u202e'
  const { document } = new JSDOM(html`<p title="${hostile}">${hostile}</p>`).window
  const p = document.querySelector('p')
  const shown = '"\'`><b onclick=alert(1)>&amp;</script>␀⟨U+202E⟩'
  t.equal(p?.title, shown)
  t.equal(p?.textContent, shown)
  t.equal(p?.childElementCount, 0)
  t.equal(p?.attributes.length, 1)
})

t.test('html inserts markup only after an exclamation mark', async (t) => {
  t.equal(html`<ul>!${['<li>', '</li>']}</ul>`, '<ul><li></li></ul>')
  t.equal(html`<p>${['<i>']}</p>`, '<p>&#60;i&#62;</p>')
  t.equal(html`<p>${null}${undefined}${0}</p>`, '<p>0</p>')
})

t.test('safeJson serializes any value', async (t) => {
  const circle: Record<string, unknown> = {}
  circle.self = circle
  const cases: Array<[value: unknown, expected: RegExp | string]> = [
    [{ a: [1] }, '{"a":[1]}'],
    [{ big: 10n }, '{"big":"10n"}'],
    [{ error: new TypeError('x') }, '{"error":{"name":"TypeError","message":"x"}}'],
    [{ map: new Map([[1, 2]]) }, '{"map":[[1,2]]}'],
    [undefined, 'undefined'],
    [circle, /Circular/],
    [{ toJSON () { throw new Error('no') } }, /toJSON/]
  ]
  for (const [value, expected] of cases) t.match(safeJson(value), expected)
})

t.test('escapeMarkdown leaves no markup', async (t) => {
  t.equal(escapeMarkdown('a_b*c`[x](y)<i>\n# d'), 'a\\_b\\*c\\`\\[x\\](y)\\<i\\>␊\\# d')
})

t.test('an asset that would end its element is refused', async (t) => {
  const folder = testdir(t, { 'good.css': '/* why */\na {\n  b: c }\n', 'bad.js': 'x = "</script>"' })
  mkdirSync(join(folder, 'sub'))
  writeFileSync(join(folder, 'sub', 'base.ts'), '')
  const base = pathToFileURL(join(folder, 'sub', 'base.ts')).href
  t.equal(style(base, '../good.css'), 'a{b:c}')
  t.throws(() => script(base, '../bad.js'), /would end/)
})
