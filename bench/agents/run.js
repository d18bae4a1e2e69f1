// Gives the faulty applications to an agent, and counts repairs, turns and bytes read. README.md describes it.
import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const FOLDER = import.meta.dirname
const ROOT = join(FOLDER, '../..')
const GIVEN = ['nothing', 'log', 'hindsight']

const { values } = parseArgs({
  options: {
    agent: { type: 'string' },
    give: { type: 'string', default: GIVEN.join() },
    only: { type: 'string', default: readdirSync(join(FOLDER, 'apps')).join() },
    turns: { type: 'string' },
    timeout: { type: 'string', default: '600' },
    json: { type: 'boolean', default: false }
  }
})
if (values.agent === undefined) throw new Error('--agent has the command line of the agent, which reads its task from standard input.')
const given = values.give.split(',')
const unknown = given.find((one) => !GIVEN.includes(one))
if (unknown !== undefined) throw new Error(`--give "${unknown}" is none of ${GIVEN.join(', ')}.`)

/** The processes that run, each with its group: an interrupt of the harness reaches none of them by itself. */
const running = new Set()
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    for (const pid of running) killGroup(pid)
    process.exit(1)
  })
}

const runs = []
for (const give of given) {
  for (const name of values.only.split(',')) {
    const run = await repair(name, give)
    runs.push(run)
    const outcome = run.repaired ? 'repaired' : 'not repaired'
    if (!values.json) console.log(`${give} ${name}: ${outcome}, ${run.turns} turns, ${run.bytes} bytes read`)
  }
}
const totals = given.map((give) => {
  const ofGiven = runs.filter((run) => run.give === give)
  const sum = (field) => ofGiven.reduce((total, run) => total + Number(run[field]), 0)
  return { give, applications: ofGiven.length, repaired: sum('repaired'), turns: sum('turns'), bytes: sum('bytes') }
})
if (values.json) console.log(JSON.stringify({ runs, totals }))
else console.table(totals)

async function repair (name, give) {
  const source = join(FOLDER, 'apps', name)
  const folder = mkdtempSync(join(tmpdir(), 'agents-'))
  try {
    cpSync(join(source, 'app.js'), join(folder, 'app.js'))
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n')
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(join(ROOT, 'node_modules/fastify'), join(folder, 'node_modules/fastify'))
    const log = await record(name, give, folder)
    if (give === 'log') writeFileSync(join(folder, 'server.log'), log)
    writeFileSync(join(folder, '.given'), give)
    cpSync(join(FOLDER, 'context.js'), join(folder, 'context.js'))
    const task = [readFileSync(join(source, 'task.md'), 'utf8'), 'Repair app.js in this folder. Change no other file.']
    if (give !== 'nothing') task.push('"node context.js" prints what is known of the failure.')
    if (give === 'hindsight') task.push('Its arguments are those of fastify-hindsight, such as: list')
    const env = { ...process.env, BENCH_APPLICATION: name, BENCH_ROOT: ROOT }
    const { output } = await run(values.agent, { cwd: folder, shell: true, env }, task.join('\n'), Number(values.timeout) * 1000)
    const noted = join(folder, '.reads')
    const reads = existsSync(noted) ? readFileSync(noted, 'utf8').trim().split('\n').map(Number) : []
    let turns = reads.length
    if (values.turns !== undefined) turns = [...output.matchAll(new RegExp(values.turns, 'g'))].length
    const args = [join(FOLDER, 'check-app.js'), name, join(folder, 'app.js')]
    const checked = await run(process.execPath, { args }, '', 60_000)
    return { give, name, repaired: checked.code === 0, turns, bytes: reads.reduce((sum, bytes) => sum + bytes, 0) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs the requests of the check once, so that there is a log or a profile of the failure. Returns the log. */
async function record (name, give, folder) {
  const preload = give === 'hindsight' ? ['--import=tsx', `--import=${join(FOLDER, 'observe.js')}`] : []
  // Not in the folder of the agent, which would have the log with all that is given.
  const logs = mkdtempSync(join(tmpdir(), 'agents-log-'))
  try {
    const file = join(logs, 'server.log')
    writeFileSync(file, '')
    const args = [...preload, join(FOLDER, 'check-app.js'), name, join(folder, 'app.js'), file]
    const env = { ...process.env, NODE_ENV: 'development', DATA_DIR: join(folder, '.data') }
    await run(process.execPath, { args, cwd: ROOT, env }, '', 60_000)
    return readFileSync(file, 'utf8')
  } finally {
    rmSync(logs, { recursive: true, force: true })
  }
}

function run (command, { args = [], ...options }, input, timeout) {
  return new Promise((resolve) => {
    // The shell of an agent passes no signal on: all its processes are a group.
    const child = spawn(command, args, { ...options, detached: true, stdio: ['pipe', 'pipe', 'inherit'] })
    running.add(child.pid)
    const timer = setTimeout(killGroup, timeout, child.pid)
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text) => { output += text })
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    child.once('exit', (code) => {
      clearTimeout(timer)
      killGroup(child.pid)
      running.delete(child.pid)
      const end = () => resolve({ code, output })
      // The last output comes after the exit. A process that has left the group may keep the pipe open.
      const last = setTimeout(end, 10_000)
      child.once('close', () => {
        clearTimeout(last)
        end()
      })
    })
  })
}

function killGroup (pid) {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // All its processes have ended.
  }
}
