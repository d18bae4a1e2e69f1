import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CACHING, DEBUG_HEADERS, LENGTH, OF_A_PAGE, VALIDATORS } from '../../packages/hindsight/test/observe/differences.js'
import { ROOT } from '../../packages/hindsight/test/support/snippets.js'

const textOf = (page: string): string => readFileSync(join(ROOT, page), 'utf8')

t.test('the headers that differ are those that the comparison of all bytes allows to differ', async (t) => {
  const [
    , table = ''
  ] = /\n\| response \| change \| headers \|\n\|---\|---\|---\|\n([^]*?)\n\n/.exec(textOf('docs/explanation/costs-and-changes.md')) ?? []
  const rows = table.split('\n').map((row) => [...(row.split('|')[3] ?? '').matchAll(/`([\w-]+)`/g)].map(([, name = '']) => name.toLowerCase()))
  t.same(rows.map((names) => names.sort()), [DEBUG_HEADERS, VALIDATORS, CACHING, LENGTH, OF_A_PAGE].map((names) => [...names].sort()))
})
