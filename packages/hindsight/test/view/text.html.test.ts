import t from 'tap'
import { html } from '../../src/view/text.js'
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

t.test('html inserts markup only after an exclamation mark', async (t) => {
  t.equal(html`<ul>!${['<li>', '</li>']}</ul>`, '<ul><li></li></ul>')
  t.equal(html`<p>${['<i>']}</p>`, '<p>&#60;i&#62;</p>')
  t.equal(html`<p>${null}${undefined}${0}</p>`, '<p>0</p>')
})
