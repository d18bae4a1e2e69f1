import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { lifecycle } from '../../../../app/lifecycle.js'
import type { Profile } from '../../src/store/profile.js'
import { ran, raw, type RawResponse } from '../support/app.js'
import { isLong } from '../support/long.js'
import { freePort } from '../support/ports.js'
import { cliCommand, devCommand, PRELOAD, run, SECRET, startCommand, type Command, type Environment } from '../support/process.js'

/** Milliseconds for an answer: a service that ends takes at most ten seconds of them (app/server.ts). */
const PATIENCE = 120_000

/** The ways to start, with the failing routes beside those of `routes/`. */
const ways: Array<[name: string, command: () => Promise<Command>]> = [
  ['npm start', async () => startCommand(PRELOAD)],
  ['npm run dev', async () => devCommand(PRELOAD)],
  ['fastify-cli', async () => cliCommand(await freePort(), PRELOAD)]
]

async function get (port: number, path: string, headers = ''): Promise<RawResponse | null> {
  return await raw(port, `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${headers}\r\n`, { timeout: PATIENCE })
}

async function profile (port: number, response: RawResponse | null): Promise<Profile> {
  const token = String(response?.headers['x-debug-token'])
  for (let tries = 0; tries < 1_000; tries++) {
    const answer = await get(port, `/_profiler/${token}.json`)
    if (answer?.status === 200) return JSON.parse(answer.text) as Profile
    await sleep(20)
  }
  throw new Error(`There is no profile "${token}"`)
}

function lines (pass: 'main' | 'error', stages: ReadonlyArray<keyof typeof lifecycle>): string[] {
  return stages.flatMap((stage) => lifecycle[stage].map(({ listener }) => `${pass} ${stage} ${listener}`))
}

const ALL = Object.keys(lifecycle) as Array<keyof typeof lifecycle>
const REQUEST = lines('main', ['kernel.request'])
const ERROR_PASS = lines('error', ALL.slice(1))
const TO_ROUTER = REQUEST.slice(0, REQUEST.findIndex((line) => line.endsWith(' router')) + 1)

const orders: Array<[name: string, bytes: string, status: number, events: string[]]> = [
  ['success', 'GET /fine HTTP/1.1\r\nHost: localhost\r\n\r\n', 200, lines('main', ALL)],
  ['no route', 'GET /robots.txt HTTP/1.1\r\nHost: localhost\r\n\r\n', 404, [...TO_ROUTER, ...ERROR_PASS]],
  ['no route at the root', 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n', 404, [...TO_ROUTER, ...ERROR_PASS]],
  ['method not allowed', 'POST /fine HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n', 405, [...TO_ROUTER, ...ERROR_PASS]],
  ['undecodable', 'GET /%FF HTTP/1.1\r\nHost: localhost\r\n\r\n', 400, [...REQUEST.slice(0, 3), ...ERROR_PASS]],
  ['handler throws', 'GET /secret HTTP/1.1\r\nHost: localhost\r\n\r\n', 500, [...lines('main', ALL.slice(0, 3)), ...ERROR_PASS]],
  ['redirect', 'GET /fine/ HTTP/1.1\r\nHost: localhost\r\n\r\n', 301, [...TO_ROUTER, ...lines('main', ALL.slice(3))]]
]

const UNCAUGHT = [['/timer', 'thrown in a timer'], ['/rejection', 'rejected in a timer']] as const

for (const [way, command] of ways) {
  t.test(`${way}: requests have the documented order, and the process ends without errors`, async (t) => {
    const started = run(t, await command())
    const port = await started.listening()
    for (const [name, bytes, status, events] of orders) {
      const response = await raw(port, bytes)
      t.equal(response?.status, status, `${name}: ${status}`)
      t.strictSame(ran((await profile(port, response)).events), events, `${name}: the order`)
    }
    t.match(await raw(port, 'GET /fine HTTP/1.1\r\nHost: localhost\r\nBad\r\n\r\n'), { status: 400, text: /Malformed HTTP message: / }, 'malformed: 400')
    const page = await get(port, '/robots.txt')
    t.match(page?.text, 'No route found for &#34;GET http://127.0.0.1:')
    t.match((await get(port, '/_profiler/'))?.status, 200)

    const slow = get(port, '/slow')
    await started.said(/\/slow/)
    t.equal(await started.exit('SIGTERM'), 0, 'it ends with 0')
    t.equal((await slow)?.text, 'slow', 'the pending request is answered')
  })

  // The same code answers in each.
  const failures = isLong || way === 'npm start' ? UNCAUGHT : []
  for (const [path, message] of failures) {
    t.test(`${way}: ${message}`, async (t) => {
      const started = run(t, await command())
      const port = await started.listening()
      const slow = get(port, '/slow')
      await started.said(/\/slow/)
      const response = await get(port, path)
      t.equal(response?.status, 500, 'the request that caused it is answered')
      t.match(response?.text, message, 'the answer has the message')
      t.equal(decodeURIComponent(String(response?.headers['x-debug-exception'])), message)
      t.match(String(response?.headers['x-debug-exception-file']), /failing-routes\.js:\d+$/)
      t.not(await started.exit(), 0, 'it does not end with 0')
      t.match(started.stdout + started.stderr, message, 'it is logged')
      t.equal((await slow)?.text, 'slow', 'another pending request is answered')
    })
  }
}

t.test('production: responses have no profiler, no debug headers and no source', async (t) => {
  const started = run(t, startCommand(PRELOAD), { NODE_ENV: 'production', SESSION_SECRET: SECRET })
  const port = await started.listening()
  for (const [path, status] of [
    ['/_profiler/', 404], ['/_profiler/latest', 404], ['/_profiler/abcdef', 404], ['/_wdt/abcdef', 404], ['/robots.txt', 404], ['/secret', 500]
  ] as const) {
    for (const accept of ['', 'Accept: text/html\r\n', 'Accept: application/json\r\n', 'Accept: text/plain\r\n', 'Accept: text/markdown\r\n']) {
      const response = await get(port, path, accept)
      t.equal(response?.status, status, `${path} ${accept.trim()}`)
      t.strictSame(Object.keys(response?.headers ?? {}).filter((name) => name.startsWith('x-debug')), [])
      t.notMatch(response?.text, /hunter2|failing-routes|node_modules|\.ts\b|No route found/)
      t.ok((response?.body.length ?? 0) < 2_000, 'the page is short')
    }
  }
  const json = await get(port, '/robots.txt', 'Accept: application/json\r\n')
  t.strictSame(JSON.parse(json?.text ?? ''), { type: 'about:blank', title: 'Not Found', status: 404 })
  t.match(started.stdout, 'hunter2', 'the log has the details that the page lacks')
  const malformed = await raw(port, 'GET / HTTP/1.1\r\nBad\r\n\r\n')
  t.equal(malformed?.status, 400)
  t.strictSame(Object.keys(malformed?.headers ?? {}).filter((name) => name.startsWith('x-debug')), [])
  t.equal(await started.exit('SIGTERM'), 0)
})

t.test('production: an uncaught exception ends the process', async (t) => {
  // Outside debug mode nothing says which request was to blame: its connection ends with the process, after its time of grace.
  await Promise.all(['/timer', '/rejection'].map(async (path) => {
    const started = run(t, startCommand(PRELOAD), { NODE_ENV: 'production', SESSION_SECRET: SECRET })
    const response = get(await started.listening(), path)
    t.not(await started.exit(), 0)
    t.match(started.stdout, 'in a timer')
    t.notMatch((await response)?.text ?? '', 'in a timer')
  }))
})

t.test('an invalid configuration or a port in use ends the start', async (t) => {
  const holder = createServer().listen(0, '127.0.0.1')
  t.teardown(() => holder.close())
  await once(holder, 'listening')
  const taken = String((holder.address() as AddressInfo).port)
  const production = { NODE_ENV: 'production' }
  const cases: Array<[name: string, env: Environment, says: RegExp]> = [
    ['production without a secret', production, /^SESSION_SECRET is not set/],
    ['production with an empty secret', { ...production, SESSION_SECRET: '' }, /^SESSION_SECRET is not set/],
    ['a secret that is too short', { ...production, SESSION_SECRET: 'short' }, /^SESSION_SECRET is too short/],
    ['a port that is no number', { PORT: 'abc' }, /PORT/],
    ['a port that is too large', { PORT: '70000' }, /PORT/],
    ['a log level that is none', { LOG_LEVEL: 'loud' }, /LOG_LEVEL/],
    ['proxies that are no addresses', { TRUSTED_PROXIES: 'nobody' }, /TRUSTED_PROXIES/],
    ['clients that are no addresses', { DEBUG_CLIENTS: 'nobody' }, /DEBUG_CLIENTS/],
    ['a port in use', { PORT: taken }, new RegExp(`address already in use 127\\.0\\.0\\.1:${taken}`)]
  ]
  // They take their time to start: all do it at once.
  const processes = cases.map(([name, env, says]) => ({ name, says, started: run(t, startCommand(), env) }))
  for (const { name, says, started } of processes) {
    await t.test(name, async (t) => {
      t.equal(await started.exit(), 1)
      t.match(started.stderr, says)
      t.equal(started.stderr.trim().split('\n').length, 1, `one line: ${started.stderr.trim()}`)
      t.equal(started.stdout, '')
    })
  }
})
