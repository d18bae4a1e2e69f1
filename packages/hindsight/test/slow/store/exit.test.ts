import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openStorage } from '../../../src/store/open.js'
import { listed, opened, place, run } from '../../store/support.js'
import { testdir } from '../../support/folder.js'

const ROOT = join(import.meta.dirname, '../../../../..')
const COUNT = 600

/** Runs an application of these lines in a process; returns its exit code, what it wrote to standard error, and the number of its profiles. */
function runApplication (t: Test, dataDir: string, options: string, end: string): { status: number | null, stderr: string, count: number } {
  const script = `
    const { default: Fastify } = await import('fastify')
    const { hindsight } = await import('./packages/hindsight/src/hindsight.ts')
    const app = Fastify()
    await app.register(hindsight, { debug: true, profiler: { dataDir: ${JSON.stringify(dataDir)}, ${options} } })
    app.get('/', async () => 'x')
    const responses = await Promise.all(Array.from({ length: ${COUNT} }, () => app.inject('/')))
    // Tokens have six digits: in one of a hundred runs two of them are equal.
    console.log(new Set(responses.map(({ headers }) => headers['x-debug-token'])).size)
    ${end}`
  const args = ['--import=tsx', '--input-type=module', '--eval', script]
  const { status, stderr, stdout } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8', timeout: 240_000 })
  t.comment(stderr)
  return { status, stderr, count: Number(stdout) }
}

t.test('a process that exits while the application closes keeps its queued profiles', async (t) => {
  let [expected, stored] = [0, -1]
  // Half a second is left for them, in which the thread of the store may get no CPU.
  for (let tries = 0; tries < 5 && stored !== expected; tries++) {
    const dataDir = testdir(t)
    const { status, count } = runApplication(t, dataDir, '', 'app.close()\nsetTimeout(() => process.exit(0), 3)')
    t.equal(status, 0)
    t.ok(count > COUNT / 2, `${count} profiles`)
    const storage = await openStorage({ dataDir })
    expected = count
    stored = (await storage.stats()).profiles
    await storage.close()
    t.comment(`${stored} of ${expected} profiles`)
  }
  t.equal(stored, expected)
})

t.test('a store that throws at the end changes no exit code', async (t) => {
  const methods = '{ put () {}, search: () => ({ profiles: [], next: null, head: "0" }), get () {}, pin () {}, purge () {}, stats () {}, close () {}, settle ' +
    '() { throw new Error("broken") } }'
  const { status, stderr } = runApplication(t, testdir(t), `storage: ${methods}`, 'process.exitCode = 0')
  t.same([status, stderr.includes('broken')], [0, false])
})

t.test('a process ends with its own exit code, and keeps its last profiles if the store is writable', async (t) => {
  const cases: Array<[way: string, code: number, expected: string[]]> = [
    ['close', 0, ['000002', '000001']],
    ['return', 0, ['000002', '000001']],
    ['exit', 3, ['000002', '000001']],
    ['locked', 3, ['000001']],
    ['throw', 1, ['000002', '000001']],
    ['reject', 1, ['000002', '000001']],
    ['clone', 0, ['000002', '000001']]
  ]
  for (const [way, code, expected] of cases) {
    const path = place(t)
    const ended = await run('ending.ts', [path, way])
    t.equal(ended.code, code, `${way}: ${ended.errors}`)
    if (way === 'close') t.equal(statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0, 0, 'a database without a store is closed')
    t.same(await listed(opened(t, { path })), expected, way)
  }
})
