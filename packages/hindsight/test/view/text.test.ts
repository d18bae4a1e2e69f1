import t from 'tap'
import {
  formatCount, cutText, escapeMarkdown, formatInteger, formatNumber, html, unbrokenUnits, visibleText, visibleLine, wordFor
} from '../../src/view/text.js'
import { leadText, noteText } from '../../src/view/components.js'
import { build } from '../support/app.js'

t.test('visible replaces control characters', async (t) => {
  const cases: Array<[text: string, shown: string]> = [
    ['plain äöü 😀', 'plain äöü 😀'],
    ['two\nlines\tand a tab', 'two\nlines\tand a tab'],
    ['a\0b\x1bc\rd\x7f', 'a␀b␛c␍d␡'],
    ['\u0085', '⟨U+0085⟩'],
    ['a\u{e0041}\u{e007f}\u{e0001}', 'a⟨U+E0041⟩⟨U+E007F⟩⟨U+E0001⟩'],
    ['\u202egnp.exe\u202c', '⟨U+202E⟩gnp.exe⟨U+202C⟩'],
    ['\u2066\u2069\u200e\u200f\u061c', '⟨U+2066⟩⟨U+2069⟩⟨U+200E⟩⟨U+200F⟩⟨U+061C⟩'],
    ['\ud800x\udc00', '\ufffdx\ufffd']
  ]
  for (const [text, shown] of cases) t.equal(visibleText(text), shown, JSON.stringify(text))
  t.equal(visibleLine('a\r\nb\tc'), 'a␍␊b c')
})

t.test('cut truncates with the number of omitted characters', async (t) => {
  t.equal(cutText('abc', 3), 'abc')
  t.equal(cutText('x'.repeat(12_345), 45), 'x'.repeat(45) + '… (12,300 more characters)')
})

t.test('a line of a page does not end between a number and its unit', async (t) => {
  const sentence = 'in 18.3 ms of 2 s, 3 hooks, 4 sent: 570 bytes'
  const shown = 'in 18.3&#160;ms of 2&#160;s, 3 hooks, 4 sent: 570&#160;bytes'
  t.equal(String(html`${unbrokenUnits(sentence)}`), shown)
  t.equal(String(noteText(sentence)), `<p class="note">${shown}</p>`)
  t.equal(String(leadText('1 min 5 s, 30 µs, 3.6 kB')), '<p class="lead plain">1&#160;min 5&#160;s, 30&#160;µs, 3.6&#160;kB</p>')
})

t.test('numbers are grouped, and words have their singular and plural', async (t) => {
  for (const [number, text] of [[0, '0 failures'], [1, '1 failure'], [2, '2 failures'], [1200, '1,200 failures']] as const) {
    t.equal(formatCount(number, 'failure'), text)
  }
  t.equal(formatCount(1, 'line is', 'lines are'), '1 line is')
  t.equal(formatCount(2, 'line is', 'lines are'), '2 lines are')
  for (const integer of [0, 999, 1_000, 12_345, 999_999, 1_000_000, -999, -1_000, 1_234_567_890]) t.equal(formatInteger(integer), integer.toLocaleString('en'))
  for (const value of [0, 0.004, 0.005, 1.005, 9.995, 12.345, 999.95, 1_234.565, 1e-9, 123_456_789.125]) {
    for (const maximumFractionDigits of [0, 1, 2]) {
      const expected = value.toLocaleString('en', { maximumFractionDigits })
      t.equal(formatNumber(value, maximumFractionDigits), expected, 'as the script of the toolbar formats it')
    }
  }
  t.same([wordFor(1, 'call'), wordFor(0, 'call'), wordFor(2, 'is', 'are')], ['call', 'calls', 'are'])
})

t.test('the list of profiles counts its results', async (t) => {
  const app = await build({ declare: (app) => app.get('/', async () => { throw new Error('no') }) })
  t.teardown(() => app.close())
  const list = async (): Promise<string> => (await app.inject({ url: '/_profiler/', headers: { accept: 'text/html' } })).body
  t.match(await list(), ': 0 failures, 0 pinned.')
  await app.inject('/')
  t.match(await list(), /\b1 of at most [\d,]+ profiles, [^:]+: 1 failure, 0 pinned\./)
  await app.inject('/')
  t.match(await list(), ': 2 failures, 0 pinned.')
})

t.test('escapeMarkdown leaves no markup', async (t) => {
  t.equal(escapeMarkdown('a_b*c`[x](y)<i>\n# d'), 'a\\_b\\*c\\`\\[x\\](y)\\<i\\>␊\\# d')
})
