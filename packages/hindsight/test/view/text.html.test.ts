import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { html, SafeHtml } from '../../src/view/text.js'
import { parseHtml } from '../support/parse-html.js'

t.test('html escapes in text and in attributes', async (t) => {
  const hostile = '"\'`><b onclick=alert(1)>&amp;</script>\0\u202e'
  const document = parseHtml(html`<p title="${hostile}">${hostile}</p>`)
  const p = document.querySelector('p')
  const shown = '"\'`><b onclick=alert(1)>&amp;</script>␀⟨U+202E⟩'
  t.equal(p?.title, shown)
  t.equal(p?.textContent, shown)
  t.equal(p?.childElementCount, 0)
  t.equal(p?.attributes.length, 1)
})

t.test('html inserts markup of its type only', async (t) => {
  t.equal(String(html`<ul>${[html`<li>`, [html`</li>`]]}</ul>`), '<ul><li></li></ul>')
  t.equal(String(html`<p>${['<i>']}${{ toString: () => '<b>' } as never}</p>`), '<p>&#60;i&#62;&#60;b&#62;</p>')
  t.equal(String(html`<p>${null}${undefined}${false}${0}${[]}</p>`), '<p>0</p>')
  t.equal(String(html`<p>${new SafeHtml('<i>')}${String(html`<b>`)}</p>`), '<p><i>&#60;b&#62;</p>')
  t.equal(String(html`<p>\
a</p>`), '<p>a</p>')
})

t.test('no template marks a value as markup', async (t) => {
  const root = new URL('../../../../', import.meta.url)
  const marked: string[] = []
  for (const folder of ['packages/hindsight/src', 'app', 'lib', 'plugins', 'routes', 'examples', 'docs']) {
    for (const path of readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })) {
      if (path.includes('node_modules') || !/\.(?:[cm]?[jt]s|md)$/.test(path)) continue
      const text = readFileSync(new URL(`${folder}/${path}`, root), 'utf8')
      if (/html`[^`]*!\$\{/.test(text)) marked.push(path)
    }
  }
  t.same(marked, [])
})
