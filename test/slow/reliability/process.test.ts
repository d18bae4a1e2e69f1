import { setTimeout as sleep } from 'node:timers/promises'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Profile } from '../../../packages/hindsight/src/store/profile.js'
import { openStorage } from '../../../packages/hindsight/src/store/open.js'
import { isLong } from '../../../packages/hindsight/test/support/long.js'
import { PRELOAD, run, SECRET, startCommand, type Command, type Environment, type Process } from '../../../packages/hindsight/test/support/process.js'
import { until } from './start.js'

function folder (t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'hindsight-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  return path
}

interface Started {
  process: Process
  port: number
  /** What the store has under a token, when the process has ended; the newest profile without one. */
  stored: (token?: unknown) => Promise<Profile | undefined>
}

async function start (t: Test, env: Environment = {}, command?: (dataDir: string) => Command): Promise<Started> {
  const dataDir = folder(t)
  const process = run(t, command?.(dataDir) ?? startCommand(PRELOAD), { DATA_DIR: dataDir, SESSION_SECRET: SECRET, ...env })
  return {
    process,
    port: await process.listening(),
    stored: async (token) => {
      const storage = await openStorage({ dataDir, warn: (message) => t.fail(message) })
      try {
        return await storage.get(String(token ?? (await storage.search({ limit: 1 })).profiles[0]?.token))
      } finally {
        await storage.close()
      }
    }
  }
}

interface Answer {
  status: number
  token: unknown
  text: string
}

/** One request; by default over a persistent connection. */
async function ask (port: number, path: string, agent = new Agent({ keepAlive: true })): Promise<Answer> {
  return await new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, agent }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => { text += chunk })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, token: response.headers['x-debug-token'], text }))
    }).on('error', reject).end()
  })
}

t.test('SIGTERM: pending requests are answered, idle connections end, and the exit code is 0', async (t) => {
  const { process, port, stored } = await start(t)
  const idle = await ask(port, '/fine')
  const slow = ask(port, '/slow')
  await process.said(/"\/slow"/)
  t.equal(await process.exit('SIGTERM'), 0)
  t.match(await slow, { status: 200, text: 'slow' })
  for (const { token } of [idle, await slow]) t.match(await stored(token), { token, status: 200 }, 'its profile is stored')
  t.equal(process.stderr, '')
})

t.test('SIGTERM: requests beyond CLOSE_TIMEOUT are aborted and logged, and profiles are kept', async (t) => {
  const { process, port, stored } = await start(t, { CLOSE_TIMEOUT: '300' })
  const { token } = await ask(port, '/fine')
  const forever = t.rejects(ask(port, '/forever'), { code: 'ECONNRESET' })
  await process.said(/"\/forever"/)
  t.equal(await process.exit('SIGTERM'), 1, 'it does not end with 0')
  await forever
  t.match(process.stdout, 'Requests that did not end within 300 ms were aborted (CLOSE_TIMEOUT)')
  t.match(await stored(token), { token })
})

for (const second of ['SIGTERM', 'SIGINT'] as const) {
  t.test(`CLOSE_DELAY: the service answers as not ready; a second ${second} ends it at once`, async (t) => {
    const { process, port } = await start(t, { CLOSE_DELAY: '60000', HEALTH: 'on' })
    t.match(await ask(port, '/readyz'), { status: 200, text: 'ok\n', token: undefined })
    process.signal('SIGTERM')
    await process.said(/Closing/)
    t.match(await until(() => ask(port, '/readyz'), ({ status }) => status === 503), { status: 503, text: 'unavailable\n' })
    t.match(await ask(port, '/livez'), { status: 200, text: 'ok\n' })
    t.match(await ask(port, '/fine'), { status: 200 })
    const forever = t.rejects(ask(port, '/forever'))
    await process.said(/"\/forever"/)
    // Signals within a second are one.
    process.signal(second)
    await sleep(1_100)
    t.equal(await process.exit(second), 1)
    await forever
  })
}

const strays: Array<[path: string, message: string, status: number]> = [
  ['/timer', 'thrown in a timer', 500],
  ['/rejection', 'rejected in a timer', 500],
  ['/late', 'thrown after the answer', 200],
  ['/often', 'thrown again and again', 500]
]

for (const [environment, env] of [['debug mode', {}], ['production', { NODE_ENV: 'production', PROFILER: 'all' }]] as Array<[string, Environment]>) {
  t.test(`an uncaught exception ends the process, and the profile is stored, in ${environment}`, async (t) => {
    // What ends the process is the same code in production.
    const tested = environment === 'production' && !isLong ? strays.slice(1, 3) : strays
    await Promise.all(tested.map(async ([path, message, status]) => {
      const { process, port, stored } = await start(t, env)
      const before = await ask(port, '/fine')
      const answer = await ask(port, path)
      t.equal(answer.status, status, path)
      t.equal(await process.exit(), 1, `${path}: it ends with 1`)
      const token = answer.token ?? /Reference: <code>([0-9a-f]{6})|Reference: ([0-9a-f]{6})/.exec(answer.text)?.slice(1).find(Boolean)
      if (environment === 'production' && status === 200) return
      const profile = await stored(token)
      t.match(JSON.stringify([profile?.exceptions, profile?.collectors]), message, `${path}: the profile has the reason`)
      if (before.token !== undefined) t.ok(await stored(before.token), 'and that of a request before is there')
    }))
  })
}

const EXITED = /^ProcessExitError: The process exited with code 1 before the response was sent$/
const endings: Array<[path: string, exception: RegExp, status?: number]> = [
  ['/exit', EXITED, 0],
  ['/later', EXITED, 0],
  ['/timer', /^Error: thrown in a timer$/],
  ['/rejection', /^Error: rejected in a timer$/],
  ['/answered', /^Error: thrown after the response$/, 200]
]

// Of each kind one: a call of `process.exit`, an exception, and one after the response.
const testedEndings = isLong ? endings : endings.filter(([path]) => ['/exit', '/timer', '/answered'].includes(path))

for (const [path, expected, status = 500] of testedEndings) {
  t.test(`an application that is not closed, ${path}: the request that ends the process has a profile`, async (t) => {
    const args = ['--import=tsx', join(import.meta.dirname, 'plain.ts')]
    const { process, port, stored } = await start(t, {}, (dataDir) => ({ args: [...args, dataDir], env: {} }))
    // The thread of the store runs when a search has found the first profile.
    const before = await ask(port, '/fine')
    await until(() => ask(port, '/_profiler/search.json'), ({ text }) => text.includes(String(before.token)))
    // Some are answered before the process ends.
    await ask(port, path).catch(() => {})
    t.equal(await process.exit(), 1)
    const profile = await stored()
    t.match(profile, { url: new RegExp(`${path}$`), status })
    const [exception] = profile?.exceptions ?? []
    t.match(`${exception?.name}: ${exception?.message}`, expected)
    if (expected !== EXITED) t.match(exception?.frames.map(({ file }) => file).join(), /plain\.ts/, 'with its frames')
    t.ok(await stored(before.token), 'the profile of the request before is there')
  })
}

for (const [name, path] of [['while a collector is working', '/collected'], ['while the application is closed', '/closing']] as const) {
  t.test(`a process that exits ${name}: the profile of the last request is stored`, async (t) => {
    const args = ['--import=tsx', join(import.meta.dirname, 'plain.ts')]
    const { process, port, stored } = await start(t, {}, (dataDir) => ({ args: [...args, dataDir], env: {} }))
    const before = await ask(port, '/fine')
    await until(() => ask(port, '/_profiler/search.json'), ({ text }) => text.includes(String(before.token)))
    const { token, status } = await ask(port, path)
    t.equal(status, 200)
    t.equal(await process.exit(), 1)
    t.match(await stored(token), { token, status: 200 })
  })
}

t.test('a handler of the service that calls process.exit has a stored profile', async (t) => {
  const { process, port, stored } = await start(t)
  const { token } = await ask(port, '/fine')
  await until(() => ask(port, '/_profiler/search.json'), ({ text }) => text.includes(String(token)))
  await t.rejects(ask(port, '/exit'), { code: 'ECONNRESET' })
  t.equal(await process.exit(), 1)
  t.match(await stored(), { url: /\/exit$/, status: 0, exceptions: [{ name: 'ProcessExitError' }] })
})

t.test('a failing start has one line of output, and exit code 1', async (t) => {
  const file = join(folder(t), 'file')
  writeFileSync(file, '')
  const cases: Array<[name: string, env: Environment, says: RegExp]> = [
    ['a store that cannot be written', { DATA_DIR: join(file, 'data') }, /^The store ".*file\/data\/profiles\.db" cannot be used: ENOTDIR/],
    ['a store that is none', { STORAGE_URL: 'nowhere' }, /^profiler\.storage \(STORAGE_URL\): it is neither sqlite nor memory/],
    [
      'a PostgreSQL address that is none', { STORAGE_URL: 'postgres://localhost:none' },
      /^profiler\.storage \(STORAGE_URL\): it is neither sqlite nor memory, nor an address/
    ],
    ['a role without security', { NODE_ENV: 'production', PROFILER: 'all', PROFILER_ROLE: 'ROLE_X' }, /^profilerRole \(PROFILER_ROLE\) needs /],
    ['another text for health', { HEALTH: 'yes' }, /^Environment: HEALTH must be on or off, not "yes"/],
    ['a time-out that is no number', { REQUEST_TIMEOUT: '1m' }, /^Environment: REQUEST_TIMEOUT must be a whole number from 0, not "1m"/],
    ['a time to close that is no number', { CLOSE_TIMEOUT: '-1' }, /^Environment: CLOSE_TIMEOUT must be a whole number from 0/]
  ]
  const started = cases.map(([name, env, says]) => ({ name, says, process: run(t, startCommand(), { DATA_DIR: folder(t), SESSION_SECRET: SECRET, ...env }) }))
  for (const { name, says, process } of started) {
    t.equal(await process.exit(), 1, name)
    t.match(process.stderr, says, name)
    t.equal(process.stderr.trim().split('\n').length, 1, `${name}: one line: ${process.stderr.trim()}`)
  }
})

t.test('an agent with many connections does not delay the exit', async (t) => {
  const { process, port } = await start(t)
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  await Promise.all(Array.from({ length: 50 }, () => ask(port, '/slow', agent)))
  const [closed] = Object.values(agent.freeSockets).flat()
  const ended = closed && once(closed, 'close')
  t.equal(await process.exit('SIGTERM'), 0)
  await ended
})
