import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { namedCommandProblems } from '../../../packages/hindsight/test/support/shell.js'
import { CHECKED, compiled, pieceProblems, ROOT, snippetsOf } from '../../../packages/hindsight/test/support/snippets.js'
import { fragmentsOf } from '../../docs/fragments.js'

const PAGES = ['README.md', ...['docs', 'examples', 'packages'].flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.md') && !file.includes('node_modules')).map((file) => join(folder, file)))]

/** What is shown rather than written: the test that compares it with what there is, or the script that makes it. */
const COMPARED: Readonly<Record<string, string>> = {
  'docs/explanation/lifecycle.md': 'test/docs/guide.test.ts',
  'docs/how-to/add-a-listener.md': 'test/docs/guide.test.ts',
  'docs/how-to/lifecycle-contract.md': 'packages/hindsight/test/cli/commands/lifecycle.test.ts',
  'docs/how-to/opentelemetry.md': 'test/slow/docs/opentelemetry.test.ts',
  'docs/how-to/production-failures.md': 'test/slow/docs/shown.test.ts',
  'docs/how-to/proxy.md': 'test/slow/docs/recipes.test.ts',
  'docs/how-to/query-budget.md': 'test/slow/docs/query-budget.test.ts',
  'docs/reference/cli.md': 'docs/scripts/reference.ts',
  'docs/reference/controller-attributes.md': 'test/docs/fragments.test.ts',
  'docs/reference/refusals.md': 'test/slow/docs/shown.test.ts',
  'docs/tutorial/find-a-bug.md': 'test/slow/docs/tutorial.test.ts',
  'docs/tutorial/find-an-n-plus-1-query.md': 'test/slow/docs/tutorial.test.ts'
}

t.test('every page of the documentation is checked', async (t) => {
  for (const page of ['docs/how-to/existing-application.md', 'docs/reference/security.md', 'examples/articles/README.md']) t.ok(PAGES.includes(page), page)
  t.ok(PAGES.length >= 32)
})

t.test('every snippet of every page has a valid form', async (t) => {
  const code = PAGES.flatMap((page) => fragmentsOf(page))
  t.ok(code.length >= 24, `${code.length} pieces`)
  // Node.js 20 has no SQLite, and the tests of this project have another runner.
  const missing = ['node:sqlite', 'vitest', '@mikro-orm/core', '@trpc/server', '@trpc/server/adapters/fastify']
  t.same(compiled(code, missing.map((name) => `declare module '${name}'`).join('\n')), [])
  for (const page of PAGES) t.same([...pieceProblems(page), ...namedCommandProblems(page)], [], page)
})

t.test('snippets in languages without a checker are compared by a test', async (t) => {
  const shown = PAGES.filter((page) => snippetsOf(page).some(({ language }) => !CHECKED.has(language)))
  t.same(shown.sort(), Object.keys(COMPARED), 'each page that shows something is here with its test')
  for (const [page, test] of Object.entries(COMPARED)) t.match(readFileSync(join(ROOT, test), 'utf8'), page.replace(/^docs\/[\w-]+\//, ''), test)
})
