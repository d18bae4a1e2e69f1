import t from 'tap'
import { pageProblems } from '../support/snippets.js'

t.test('the pieces of code of the page compile', async (t) => {
  t.same(pageProblems('docs/explanation/coming-from.md'), [])
})
