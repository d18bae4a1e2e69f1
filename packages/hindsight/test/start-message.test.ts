import { execFile } from 'node:child_process'
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

/** An application with the package, and what was printed to standard error. */
async function observed (t: Test, options: HindsightOptions = {}) {
  const { logger, lines } = openLog()
  const app = Fastify({ logger })
  t.teardown(() => app.close())
  const printed: string[] = []
  const write = (text: string | Uint8Array) => printed.push(String(text)) > 0
  await app.register(async (part: FastifyInstance) => {
    await part.register(hindsight, { debug: true, profiler: { storage: 'memory' }, ...options })
    addStartMessage(part, {}, { write })
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

t.test('with the package standard error has the address once, and the log does not change', async (t) => {
  const { NODE_ENV, NODE_TEST_CONTEXT } = process.env
  delete process.env.NODE_ENV
  delete process.env.NODE_TEST_CONTEXT
  t.teardown(() => { Object.assign(process.env, { ...NODE_ENV && { NODE_ENV }, ...NODE_TEST_CONTEXT && { NODE_TEST_CONTEXT } }) })
  const { app, lines, printed } = await observed(t)
  await app.inject('/part/')
  t.same(printed, [], 'an injected request prints nothing')
  const origin = await app.listen({ port: 0, host: '0.0.0.0' })
  t.same(printed, [`Profiler: ${origin}/part/_profiler/\n`])
  t.match(origin, /^http:\/\/127\.0\.0\.1:\d+$/)
  t.equal((await fetch(`${origin}/part/_profiler/`)).status, 200)
  t.notMatch(JSON.stringify(lines), 'Profiler: ')
  const socket = await observed(t)
  const folder = mkdtempSync(join(tmpdir(), 'hindsight-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  await socket.app.listen({ path: join(folder, 'socket') })
  t.same(socket.printed, [], 'a Unix socket has no address')
  for (const variables of [{ NODE_ENV: 'test' }, { NODE_TEST_CONTEXT: 'child-v8' }]) {
    Object.assign(process.env, variables)
    const test = await observed(t)
    await test.app.listen({ port: 0 })
    t.same(test.printed, [], `a test: ${JSON.stringify(variables)}`)
    for (const name of Object.keys(variables)) delete process.env[name]
  }
})

t.test('the preload prints the address in debug mode, where no terminal is attached', async (t) => {
  const root = join(import.meta.dirname, '../../..')
  const file = join(testdir(t, {
    'app.mjs': `import Fastify from '${join(root, 'node_modules/fastify/fastify.js')}'
const app = Fastify()
await app.listen({ port: 0 })
await app.close()`
  }), 'app.mjs')
  const args = ['--import=tsx', `--import=${join(root, 'packages/hindsight/src/register.ts')}`, file]
  const started = async (variables: Record<string, string>) => {
    const { NODE_ENV: _environment, ...inherited } = process.env
    const options = { cwd: root, env: { ...inherited, STORAGE_URL: 'memory', ...variables } }
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, options)
    t.equal(stdout, '')
    return stderr.trim()
  }
  // Drivers that the folder of this process resolves are named.
  t.match(await started({}), /^Profiler: http:\/\/127\.0\.0\.1:\d+\/_profiler\/ \(ready for queries of pg 8\.\d+\.\d+\)$/)
  t.match(await started({ HINDSIGHT_QUERIES: 'off' }), /^Profiler: http:\/\/127\.0\.0\.1:\d+\/_profiler\/$/)
  t.equal(await started({ NODE_ENV: 'production' }), '')
})
