import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { isLong } from '../../packages/hindsight/test/support/long.js'
import { freePort, takePort } from '../../packages/hindsight/test/support/ports.js'
import { PRELOAD } from '../../packages/hindsight/test/support/process.js'

const ROOT = join(import.meta.dirname, '../..')
const TIMEOUT = 60_000
const TIMES = isLong ? 5 : 1

interface Run {
  port: number
  output: () => string
  /** Sends a signal to npm's process alone, or to its process group as process managers do, and waits until all processes that it started have ended. */
  end: (signal: NodeJS.Signals, isGroup: boolean) => Promise<void>
}

/** Starts a script of package.json as a user does, with the routes of a fixture, and waits until it answers. */
async function start (t: Test, script: string): Promise<Run> {
  const port = await freePort()
  const dataDir = mkdtempSync(join(tmpdir(), 'hindsight-'))
  const { NODE_ENV: _environment, ...inherited } = process.env
  const env = { ...inherited, PORT: String(port), DATA_DIR: dataDir, LOG_LEVEL: 'info', NODE_OPTIONS: PRELOAD.join(' ') }
  const npm = spawn('npm', ['run', script], { cwd: ROOT, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  npm.stdout.setEncoding('utf8').on('data', (chunk: string) => { output += chunk })
  npm.stderr.setEncoding('utf8').on('data', (chunk: string) => { output += chunk })
  // Its output is closed when no process has it open.
  const ended = once(npm, 'close')
  t.teardown(async () => {
    try {
      process.kill(-(npm.pid as number), 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
    await ended
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 })
  })
  const until = Date.now() + TIMEOUT
  while (await send(port, '/fine').catch(() => '') === '') {
    if (Date.now() > until || npm.exitCode !== null) throw new Error(`npm run ${script} does not answer:\n${output}`)
    await sleep(100)
  }
  return {
    port,
    output: () => output,
    end: async (signal, isGroup) => {
      process.kill(isGroup ? -(npm.pid as number) : npm.pid as number, signal)
      const timeout = sleep(TIMEOUT, 'timeout' as const, { ref: false })
      if (await Promise.race([ended, timeout]) === 'timeout') throw new Error(`npm run ${script} does not end:\n${output}`)
    }
  }
}

/** Sends a GET; its answer. `arrived` is called when the server has received the request. */
async function send (port: number, path: string, arrived: () => void = () => {}): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`)
  let answer = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    if (answer === '') arrived()
    answer += chunk
  })
  await once(socket, 'close')
  return answer
}

async function ends (t: Test, script: string, signal: NodeJS.Signals, isGroup = false): Promise<void> {
  const { port, output, end } = await start(t, script)
  let ended: Promise<void> = Promise.resolve()
  const answer = await send(port, '/slow', () => { ended = end(signal, isGroup) })
  await ended
  t.match(answer, /\r\n\r\nslow$/, 'the pending request is answered')
  await t.resolves(takePort(port), 'its port is free')
  t.notMatch(output(), /killed by timeout|Force killing/, 'no process was killed')
  if (script === 'start') t.match(output(), `"signal":"${signal}","msg":"Closing"`, 'it shuts down gracefully')
}

const RUNS: Array<[script: string, signal: NodeJS.Signals, times: number]> = [
  ['start', 'SIGTERM', TIMES],
  ['dev', 'SIGTERM', TIMES],
  ['start', 'SIGINT', 1],
  ['dev', 'SIGINT', 1],
  ['example', 'SIGTERM', 1],
  ['example:js', 'SIGTERM', 1],
  ['example:ts', 'SIGTERM', 1],
  ['example:services', 'SIGTERM', 1],
  ['fixture', 'SIGTERM', 1]
]

for (const [script, signal, times] of RUNS) {
  t.test(`npm run ${script}: ${signal} to npm alone shuts the server down gracefully`, async (t) => {
    for (let time = 0; time < times; time++) await ends(t, script, signal)
  })
}

t.test('npm start: SIGTERM to the process group shuts the server down gracefully', async (t) => {
  for (let time = 0; time < TIMES; time++) await ends(t, 'start', 'SIGTERM', true)
})

t.test('all scripts that start servers are tested', (t) => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
  const servers = Object.keys(scripts).filter((name) => /(?:server|dev)\.ts|app\.(?:ts|cjs)$/.test(scripts[name] ?? ''))
  t.strictSame(servers.sort(), [...new Set(RUNS.map(([script]) => script))].sort())
  t.end()
})
