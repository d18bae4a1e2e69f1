import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { testdir } from '../../../packages/hindsight/test/support/folder.js'

const FOLDER = join(import.meta.dirname, '../../../bench/agents')
const APPS = join(FOLDER, 'apps')

interface Application { build: () => FastifyInstance }
interface Check { default: (app: FastifyInstance) => Promise<void> }
interface Run { give: string, name: string, repaired: boolean, turns: number, bytes: number }

async function isRepaired (name: string, file: string): Promise<boolean> {
  const { build } = await import(file) as Application
  const { default: check } = await import(join(APPS, name, 'check.js')) as Check
  const app = build()
  try {
    await check(app)
    return true
  } catch {
    return false
  } finally {
    // One of them does not answer, and does not close either.
    app.close().catch(() => {})
  }
}

t.test('the check of each application fails before its solution, and passes after it', async (t) => {
  const names = readdirSync(APPS)
  t.equal(names.length, 25)
  const folder = testdir(t)
  for (const name of names) {
    const faulty = join(APPS, name, 'app.js')
    const solution = JSON.parse(readFileSync(join(APPS, name, 'solution.json'), 'utf8')) as { replace: string, with: string }
    const source = readFileSync(faulty, 'utf8')
    t.equal(source.split(solution.replace).length, 2, `${name}: the solution has one place`)
    const repaired = join(folder, `${name}.mjs`)
    writeFileSync(repaired, source.replace(solution.replace, () => solution.with))
    t.same([await isRepaired(name, faulty), await isRepaired(name, repaired)], [false, true], name)
    t.match(readFileSync(join(APPS, name, 'task.md'), 'utf8'), /^[^\n]{20,200}\.\n$/)
  }
})

t.test('the harness counts the repairs, turns and bytes of a scripted agent', async (t) => {
  const agent = `${process.execPath} ${join(FOLDER, 'scripted-agent.js')} missing-await`
  const args = [join(FOLDER, 'run.js'), '--agent', agent, '--only', 'missing-await,swallowed-error', '--turns', 'turn', '--json']
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const { runs, totals } = JSON.parse(stdout) as { runs: Run[], totals: object[] }
  t.same(runs.map(({ give, name, repaired, turns }) => [give, name, repaired, turns]), ['nothing', 'log', 'hindsight'].flatMap((give) => [
    [give, 'missing-await', true, 2], [give, 'swallowed-error', false, 1]
  ]))
  t.same(runs.map(({ bytes }) => bytes > 0), [false, false, true, true, true, true], 'nothing has no bytes')
  t.match(totals, ['nothing', 'log', 'hindsight'].map((give) => ({ give, applications: 2, repaired: 1, turns: 3 })))
  const counted = runs.filter(({ give }) => give === 'hindsight').reduce((sum, { bytes }) => sum + bytes, 0)
  t.match(totals[2], { bytes: counted })
  const failed = await promisify(execFile)(process.execPath, [join(FOLDER, 'run.js'), '--agent', 'a', '--give', 'all']).catch((error: Error) => error)
  t.match(String(failed), '--give "all" is none of nothing, log, hindsight.')
})

t.test('nothing that is given names the check', async (t) => {
  const file = join(testdir(t), 'output')
  const context = `${process.execPath} context.js`
  const agent = ['', ' list'].map((args) => `echo "# $BENCH_APPLICATION"; ${context}${args}`).join('; ')
  for (const give of ['hindsight', 'log']) {
    const args = [join(FOLDER, 'run.js'), '--agent', `(${agent}; ls -A) >> ${file}`, '--give', give, '--only', 'missing-await,error-handler,late-error']
    await promisify(execFile)(process.execPath, args)
  }
  const outputs = readFileSync(file, 'utf8').split(/^(?=# )/m)
  t.ok(outputs.length >= 12)
  t.same(outputs.filter((output) => /check(?:-app)?\.js/.test(output)), [])
})

t.test('an agent that does not end is stopped with its processes', async (t) => {
  // Its standard error is open until all of them have ended.
  const args = [join(FOLDER, 'run.js'), '--agent', 'sleep 100000; true', '--only', 'missing-await', '--give', 'nothing', '--timeout', '1']
  const { stdout } = await promisify(execFile)(process.execPath, args)
  t.match(stdout, 'nothing missing-await: not repaired')
})
