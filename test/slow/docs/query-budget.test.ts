import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { snippetsOf } from '../../../packages/hindsight/test/support/snippets.js'
import { environment, project } from '../../../packages/hindsight/test/support/tutorial.js'

// The application and the tests of docs/how-to/query-budget.md, with the packed package.

const PAGE = 'docs/how-to/query-budget.md'
const snippets = snippetsOf(PAGE)
const folder = mkdtempSync(join(tmpdir(), 'hindsight-budget-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const place = await project(folder)

for (const { mark, code } of snippets) {
  if (mark.startsWith('file: ')) save(mark.slice(6), code)
}

function save (file: string, code: string): void {
  // Node.js 20 has no SQLite, and loads no package of this project by its name.
  const tap = new URL(import.meta.resolve('tap')).href
  const sqlite = isBuiltin('node:sqlite') ? 'node:sqlite' : '@photostructure/sqlite'
  writeFileSync(join(place, file), code.replace('\'node:sqlite\'', `'${sqlite}'`).replace('\'tap\'', `'${tap}'`))
}

async function run (...args: string[]): Promise<{ failed: boolean, output: string }> {
  return await new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: place, env: environment() }, (error, stdout, stderr) =>
      resolve({ failed: error !== null, output: stdout + stderr }))
  })
}

const RUNNERS = { 'node:test': ['--test', 'node.test.js'], tap: ['tap.test.js'] }
const shown = snippets.find(({ language, code }) => language === '' && code.includes('budget'))?.code.split(' …')[0]?.replace(/,$/, '') ?? ''

for (const [runner, command] of Object.entries(RUNNERS)) {
  t.test(`${PAGE}: a test of ${runner} fails over the budget`, async (t) => {
    const { failed, output } = await run(...command)
    t.equal(failed, true)
    t.ok(shown.length > 50 && output.replaceAll('\\`', '`').includes(shown), shown, { output })
  })
}

t.test(`${PAGE}: with one query the tests pass`, async (t) => {
  const repair = snippets.find(({ mark }) => mark.startsWith('replaces: '))
  const before = repair?.mark.replace('replaces: ', '') ?? ''
  const application = snippets.find(({ mark }) => mark === 'file: app.js')?.code ?? ''
  t.ok(application.includes(before))
  save('app.js', application.replace(before, () => repair?.code.trim() ?? ''))
  for (const command of Object.values(RUNNERS)) {
    const { failed, output } = await run(...command)
    t.equal(failed, false, output)
  }
})
