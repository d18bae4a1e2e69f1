import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import Fastify, { type FastifyInstance } from 'fastify'
import { service } from '../../../app/service.js'
import { hindsight } from '../src/hindsight.js'
import type { HindsightOptions } from '../src/options.js'
import { addStartMessage } from '../src/observe.js'
import { testdir } from './support/folder.js'
import { build, SECRET } from './support/app.js'

/** A log, and the objects that were written to it. */
function openLog () {
  const stream = new PassThrough()
  const lines: Array<Record<string, unknown>> = []
  stream.setEncoding('utf8').on('data', (text: string) => {
    lines.push(...text.trim().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>))
  })
  return { logger: { level: 'info', stream }, lines }
}

/** An application with the package and a terminal as standard error, and what was printed there. */
async function observed (t: Test, isTTY: boolean, options: HindsightOptions = {}) {
  const { logger, lines } = openLog()
  const app = Fastify({ logger })
  t.teardown(() => app.close())
  const printed: string[] = []
  const write = (text: string | Uint8Array) => printed.push(String(text)) > 0
  await app.register(async (part: FastifyInstance) => {
    await part.register(hindsight, { debug: true, profiler: { storage: 'memory' }, ...options })
    addStartMessage(part, { isTTY, write })
  }, { prefix: '/part' })
  return { app, lines, printed }
}

t.test('the log of the service has the address of the profiler, and of the profile of each failure', async (t) => {
  const { logger, lines } = openLog()
  const app = await build(t, { server: { logger } as never }, (app) => {
    app.get('/broken', { logLevel: 'info' }, async () => { throw new Error('broken') })
  })
  await app.inject('/broken')
  t.notOk(lines.some((line) => 'profile' in line), 'no address is known before the server listens')
  const origin = await app.listen({ port: 0 })
  const started = lines.filter(({ msg }) => String(msg).startsWith('Profiler: '))
  t.match(started, [{ channel: 'profiler', msg: `Profiler: ${origin}/_profiler/`, level: 30 }])
  for (const [path, level] of [['/broken', 50], ['/nowhere', 40]] as const) {
    const response = await fetch(origin + path)
    const logged = lines.filter((line) => line.level === level && String(line.msg).startsWith('Uncaught'))
    t.equal(logged.at(-1)?.profile, `${origin}/_profiler/${response.headers.get('x-debug-token')}`)
  }
})

t.test('without debug mode and without profiles, the service logs no address', async (t) => {
  for (const options of [{ debug: false }, { profiler: false }] as const) {
    const { logger, lines } = openLog()
    const app = Fastify({ logger })
    t.teardown(() => app.close())
    await app.register(service, { debug: true, session: { secret: SECRET }, ...options })
    const origin = await app.listen({ port: 0 })
    await fetch(`${origin}/nowhere`)
    t.notMatch(JSON.stringify(lines), 'Profiler: ')
  }
})

t.test('with the package a terminal shows the address once, and the log does not change', async (t) => {
  const { NODE_ENV: environment } = process.env
  delete process.env.NODE_ENV
  t.teardown(() => { if (environment !== undefined) process.env.NODE_ENV = environment })
  const { app, lines, printed } = await observed(t, true)
  await app.inject('/part/')
  t.same(printed, [], 'an injected request prints nothing')
  const origin = await app.listen({ port: 0, host: '0.0.0.0' })
  t.same(printed, [`Profiler: ${origin}/part/_profiler/\n`])
  t.match(origin, /^http:\/\/127\.0\.0\.1:\d+$/)
  t.equal((await fetch(`${origin}/part/_profiler/`)).status, 200)
  t.notMatch(JSON.stringify(lines), 'Profiler: ')
  const socket = await observed(t, true)
  const folder = mkdtempSync(join(tmpdir(), 'hindsight-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  await socket.app.listen({ path: join(folder, 'socket') })
  t.same(socket.printed, [], 'a Unix socket has no address')
  const piped = await observed(t, false)
  await piped.app.listen({ port: 0 })
  t.same(piped.printed, [], 'standard error is not a terminal')
  process.env.NODE_ENV = 'test'
  const test = await observed(t, true)
  await test.app.listen({ port: 0 })
  t.same(test.printed, [], 'the environment is that of tests')
})

const hasScript = spawnSync('script', ['--version']).status === 0
t.test('the preload prints the address to a terminal, in debug mode', { skip: !hasScript }, async (t) => {
  const root = join(import.meta.dirname, '../../..')
  const file = join(testdir(t, {
    'app.mjs': `import Fastify from '${join(root, 'node_modules/fastify/fastify.js')}'
const app = Fastify()
await app.listen({ port: 0 })
await app.close()`
  }), 'app.mjs')
  const command = `node --import=tsx --import=${join(root, 'packages/hindsight/src/register.ts')} ${file}`
  const started = async (env: Record<string, string>) => {
    const { NODE_ENV: _environment, ...inherited } = process.env
    const options = { cwd: root, env: { ...inherited, STORAGE_URL: 'memory', ...env } }
    const { stdout } = await promisify(execFile)('script', ['-qec', command, '/dev/null'], options)
    return stdout.trim()
  }
  // Drivers that the folder of this process resolves are named.
  t.match(await started({}), /^Profiler: http:\/\/127\.0\.0\.1:\d+\/_profiler\/ \(with queries of pg 8\.\d+\.\d+, if it uses them\)$/)
  t.match(await started({ HINDSIGHT_QUERIES: 'off' }), /^Profiler: http:\/\/127\.0\.0\.1:\d+\/_profiler\/$/)
  t.equal(await started({ NODE_ENV: 'production' }), '')
})
