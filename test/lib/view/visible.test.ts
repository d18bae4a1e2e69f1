import t from 'tap'
import { cut, visible, visibleLine } from '../../../lib/view/visible.js'

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
