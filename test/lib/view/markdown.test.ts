import t from 'tap'
import { escapeMarkdown } from '../../../lib/view/markdown.js'

t.test('escapeMarkdown leaves no markup', async (t) => {
  t.equal(escapeMarkdown('a_b*c`[x](y)<i>\n# d'), 'a\\_b\\*c\\`\\[x\\](y)\\<i\\>␊\\# d')
})
