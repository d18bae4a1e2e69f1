import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { REMOVED } from '../../packages/hindsight/src/check-options.js'
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

t.test('the page about upgrading has each removed option', async (t) => {
  const [, table = ''] = /\n\| removed \| what replaces it \|\n\|---\|---\|\n([^]*?)\n\n/.exec(textOf('docs/upgrading.md')) ?? []
  const names = table.split('\n').flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([\w.[\]]+)`/g)].map(([, name]) => name))
  t.same(names.sort(), Object.keys(REMOVED).sort())
})
