import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { DEFAULT_DATA_DIR, openStorage } from '../../src/store/open.js'
import type { TimeBudget } from '../../src/recording/work-log.js'
import type { Profile } from '../../src/store/profile.js'
import { testdir } from '../support/folder.js'

const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href
const FASTIFY_4 = pathToFileURL(createRequire(import.meta.url).resolve('../packages/node_modules/fastify-4')).href
const PRELOAD = pathToFileURL(join(import.meta.dirname, '../../src/register.ts')).href
const INDEX = pathToFileURL(join(import.meta.dirname, '../../src/index.ts')).href

const folder = testdir(t, {
  'fail.mjs': "const count = 3\nthrow new RangeError('import of ' + count + ' failed')\n",
  'fail.cjs': "function open () { throw new Error('no file') }\nopen()\n",
  'job.mjs': `import { profile } from ${JSON.stringify(INDEX)}
await profile('worker of job.mjs', async () => {
  setTimeout(() => { const row = undefined; row.id }, 100)
  await new Promise((resolve) => setTimeout(resolve, 3000))
})
`,
  'code.mjs': 'process.exitCode = 3\n',
  'stopped.mjs': 'setTimeout(() => process.exit(Number(process.argv[2])), 1100)\n',
  'handled.mjs': "process.on('uncaughtException', () => {})\nsetImmediate(() => { throw new Error('handled') })\n",
  'slow.mjs': "import http from 'node:http'\n" +
    "const server = http.createServer((_request, response) => setTimeout(() => response.end('x'), 1100)).listen(0)\n" +
    "server.on('listening', () => http.get({ port: server.address().port }, (r) => r.resume().on('end', () => server.close())))\n",
  'start.mjs': `import Fastify from 'fastify'
import { setTimeout as sleep } from 'node:timers/promises'
const app = Fastify({ logger: true })
app.register(async function database (scope) {
  scope.log.info('connecting')
  await sleep(600)
  scope.register(async function tables () { await sleep(10) })
  scope.after(() => { scope.register(async function indexes () { await sleep(10) }) })
})
app.addHook('onReady', async () => { await sleep(20) })
await app.listen({ port: 0 })
await (await fetch(app.listeningOrigin)).text()
await app.close()
`,
  'older.mjs': `import Fastify from ${JSON.stringify(FASTIFY_4)}
const app = Fastify({ logger: { level: 'error', stream: { write () { process.exitCode = 5 } } } })
await app.listen({ port: 0 })
await app.close()
`,
  'bad.mjs': `import Fastify from 'fastify'
const app = Fastify()
app.register(async function broken () { throw new Error('no database') })
await app.listen({ port: 0 })
`
})
symlinkSync(join(import.meta.dirname, '../../../../node_modules'), join(folder, 'node_modules'))
const dataDir = join(folder, DEFAULT_DATA_DIR.replace('node_modules', 'data'))

interface Run { code: number | null, profile: Profile | undefined, job: Profile | undefined }

/** Runs a script with the preload; resolves to its exit code, and to the profiles of the process and of a job with the name of the script in its name. */
async function runScript (file: string, args: string[] = []): Promise<Run> {
  const env = { ...process.env, NODE_ENV: 'development', DATA_DIR: dataDir }
  const child = spawn(process.execPath, [`--import=${TSX}`, `--import=${PRELOAD}`, file, ...args], { cwd: folder, env, stdio: 'ignore' })
  const [code] = await once(child, 'exit') as [number | null]
  const storage = await openStorage({ dataDir })
  const { profiles } = await storage.search({ criteria: { url: file }, limit: 10 })
  const found = await Promise.all(profiles.map(({ token }) => storage.get(token)))
  await storage.close()
  const ofKind = (...kinds: string[]): Profile | undefined => found.find((one) => kinds.includes(String(one?.kind)))
  return { code, profile: ofKind('command', 'start'), job: ofKind('job') }
}

/** Runs a script until it has a profile, at most five times: the thread of the store may not have started when the process ends. */
async function runRecorded (file: string, args: string[] = []): Promise<Run> {
  for (let tries = 1; ; tries++) {
    const ran = await runScript(file, args)
    if (ran.profile !== undefined || tries === 5) return ran
    t.comment(`${file} has no profile: again`)
  }
}

t.test('a script that ends with an error', async (t) => {
  for (const file of ['fail.mjs', 'fail.cjs']) {
    const { code, profile } = await runRecorded(file, ['--password', 'hunter2'])
    t.equal(code, 1, 'as without the preload')
    t.match(profile, { kind: 'command', name: file, outcome: 'failed', collectors: { job: { input: ['--password', '******'] } } })
    t.match(profile?.exceptions, [{ frames: [{ file: join(folder, file) }] }])
  }
  const { code, profile } = await runRecorded('code.mjs')
  t.equal(code, 3)
  const message = 'The process exited with code 3'
  t.match(profile, { outcome: 'failed', exceptions: [{ message, frames: [], stack: `ProcessExitError: ${message}` }] })
})

t.test('an exception that nothing catches in a job is the failure of the job and of the script', async (t) => {
  const { code, profile, job } = await runRecorded('job.mjs')
  t.equal(code, 1)
  for (const failed of [job, profile]) {
    t.match(failed, { outcome: 'failed', exceptions: { length: 1, 0: { name: 'TypeError', frames: [{ file: join(folder, 'job.mjs'), line: 3 }] } } })
    t.notOk(failed?.collectors.otherErrors)
  }
})

t.test('a script that runs longer than a second is kept, and a quick one is not', async (t) => {
  const { code, profile } = await runRecorded('slow.mjs')
  t.equal(code, 0)
  t.match(profile, { kind: 'command', outcome: 'done', exceptions: [], collectors: { 'http-client': { count: 1 } } })
  t.notMatch(profile?.collectors.performance, { budget: { work: [{ one: 'random bytes' }] } })
  for (let tries = 0; ; tries++) {
    const file = `quick-${tries}.mjs`
    writeFileSync(join(folder, file), 'console.log("quick")\n')
    const { code, profile } = await runScript(file)
    t.equal(code, 0)
    // On a busy machine it may take longer than a second.
    if (profile !== undefined && profile.duration >= 1_000) continue
    t.equal(profile, undefined)
    break
  }
})

t.test('a script that ends because it was told to has not failed', async (t) => {
  // 128 and the number of SIGINT or SIGTERM.
  for (const signal of ['130', '143']) {
    const { code, profile } = await runScript('stopped.mjs', [signal])
    t.equal(code, Number(signal))
    t.equal(profile, undefined, 'as one that the signal ends')
  }
  const { profile } = await runRecorded('stopped.mjs', ['129'])
  t.match(profile, { outcome: 'failed', exceptions: [{ message: 'The process exited with code 129' }] })
})

t.test('a program of a package that passes on the exit code of its child process has no profile', async (t) => {
  mkdirSync(join(folder, 'more/node_modules/starter'), { recursive: true })
  const source = `import { spawn } from 'node:child_process'
import { once } from 'node:events'
const [code] = await once(spawn(process.execPath, ['-e', 'setTimeout(() => process.exit(4), 1100)'], { env: {} }), 'exit')
process.exitCode = process.argv[2] === undefined ? code : Number(process.argv[2])
`
  const [starter, own] = ['more/node_modules/starter/bin.mjs', 'starter.mjs']
  for (const file of [starter, own]) writeFileSync(join(folder, file), source)
  t.match(await runScript(starter), { code: 4, profile: undefined })
  t.match(await runRecorded(starter, ['5']), { code: 5, profile: { outcome: 'failed' } })
  t.match(await runRecorded(own), { code: 4, profile: { outcome: 'failed' } }, 'a script of the application')
})

t.test('a script that handles an exception has not failed', async (t) => {
  const { code, profile } = await runScript('handled.mjs')
  t.equal(code, 0)
  t.not(profile?.outcome, 'failed')
})

t.test('the start of an application has its plugins, their times and log lines', async (t) => {
  const { code, profile } = await runRecorded('start.mjs')
  t.equal(code, 0)
  t.match(profile, { kind: 'start', name: 'start.mjs', outcome: 'done' })
  const { plugins, steps } = profile?.collectors.job as { plugins: Array<{ name: string, duration: number }>, steps: Array<{ name: string }> }
  t.same(plugins.map(({ name }) => name), ['database', '\u2003tables', '\u2003indexes'])
  t.ok(Number(plugins[0]?.duration) >= 500)
  t.same(steps.map(({ name }) => name), ['before the application', 'plugins', 'onReady hooks and listen'])
  t.ok(profile?.logs.some(({ message }) => message === 'connecting'))
  t.notOk(profile?.logs.some(({ message }) => /incoming request/.test(message)), 'requests are not of the start')
  const { budget } = profile?.collectors.performance as { budget: TimeBudget }
  const timers = budget.work.filter(({ one }) => one === 'timer').map(({ source }) => String(source).slice(folder.length))
  t.same(timers, ['/start.mjs:6:9', '/start.mjs:7:51', '/start.mjs:8:72', '/start.mjs:10:44'], 'not the one by which Fastify limits the time of a plugin')
  t.same(budget.blocks, [], 'it may be Hindsight that blocked')
})

t.test('the start of an application that fails', async (t) => {
  const { code, profile } = await runRecorded('bad.mjs')
  t.equal(code, 1)
  t.match(profile, { kind: 'start', outcome: 'failed', exceptions: [{ message: 'no database' }] })
})

t.test('an application with Fastify 4 listens without an error in its log', async (t) => {
  const { code } = await runScript('older.mjs')
  t.equal(code, 0)
})
