import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { chromium } from './support/browser.js'
import { testdir } from '../support/folder.js'
import { isLong } from '../support/long.js'
import { freePort } from '../support/ports.js'
import { devCommand, run, startCommand, type Command } from '../support/process.js'

const ROOT = join(import.meta.dirname, '../../../..')
const FAILING = [`--import=${join(ROOT, 'test/fixtures/failing-start.js')}`]
const REGISTER = ['--import=tsx', `--import=${join(ROOT, 'packages/hindsight/src/register.ts')}`]

const failures: ReadonlyArray<[name: string, source: string, line: number, message: RegExp]> = [
  ['JSON', "const prices = JSON.parse('{oops')\nexport default async () => prices\n", 1, /Expected property name/],
  ['duplicate', "export default async (app) => {\n  app.get('/a', () => 1)\n  app.get('/a', () => 2)\n}\n", 3, /Method 'GET' already declared/],
  ['syntax', 'export default async () => {\n  const = 2\n}\n', 2, /Expected identifier but found "="/],
  ['module', "\nimport missing from 'no-such-package'\nexport default missing\n", 2, /Cannot find package 'no-such-package'/],
  ['hook', "export default async (app) => {\n  app.addHook('onReady', async () => { throw new Error('no cache') })\n}\n", 2, /no cache/]
]
const folder = testdir(t, Object.fromEntries([
  ...failures.map(([name, source]) => [`${name}.ts`, source]),
  ['empty.ts', 'export default async () => {}\n'],
  ['text.ts', "export default async () => {\n  throw 'no database'\n}\n"],
  ['app.ts', `import Fastify from 'fastify'
const app = Fastify({ logger: process.argv[2] === 'log' })
app.register(import(process.env.FAILING_FILE as string))
try {
  await app.listen({ port: Number(process.env.PORT) })
} catch (error) {
  if (process.argv[2] !== 'log') throw error
  app.log.error(error)
  process.exit(1)
}
`]
]))
const environmentOf = (file: string): Record<string, string> => ({ FAILING_FILE: pathToFileURL(file).href })

function preloaded (mode: string): Command {
  return { args: [...REGISTER, join(folder, 'app.ts'), mode], env: {} }
}

for (const [name, source, line, message] of failures) {
  const file = join(folder, `${name}.ts`)
  const place = `${relative(ROOT, file)}:${line}\n`
  const marked = `\n> ${line} | ${source.split('\n')[line - 1]}\n`

  t.test(`npm start prints the place, the source and the stack: ${name}`, async (t) => {
    const started = run(t, startCommand(FAILING), environmentOf(file))
    t.equal(await started.exit(), 1)
    t.equal(started.stderr.slice(0, place.length), place)
    t.ok(started.stderr.includes(marked), 'the line of source')
    t.match(started.stderr, message)
    t.match(started.stderr, /^ {4}at /m)
    t.equal(started.stderr.includes(`\nThe first declaration is at ${relative(ROOT, file)}:2\n`), name === 'duplicate')
  })

  // It prints what `npm start` does.
  if (!isLong && name !== 'duplicate' && name !== 'syntax') continue
  t.test(`the preload prints the place and the source, and Node.js the error: ${name}`, async (t) => {
    const [thrown, logged] = ['throw', 'log'].map((mode) => run(t, preloaded(mode), environmentOf(file)))
    t.equal(await thrown?.exit(), 1)
    t.equal(thrown?.stderr.slice(0, place.length), place)
    t.ok(thrown?.stderr.includes(marked), 'the line of source')
    t.match(thrown?.stderr, message)
    t.match(thrown?.stderr, /^ {4}at /m)
    t.equal(await logged?.exit(), 1)
    t.equal(logged?.stderr.slice(0, place.length), place)
    for (const stderr of [thrown?.stderr, logged?.stderr]) {
      t.equal(stderr?.includes(`\nThe first declaration is at ${relative(ROOT, file)}:2\n`), name === 'duplicate')
    }
    t.match(JSON.parse(logged?.stdout.trim() ?? ''), { level: 50, err: { message, stack: / at / } })
  })
}

t.test('the preload prints the line that listens on a port in use', async (t) => {
  const server = createServer().listen(0, 'localhost')
  t.teardown(() => { server.close() })
  await once(server, 'listening')
  const port = String((server.address() as AddressInfo).port)
  const empty = join(folder, 'empty.ts')
  const line = '  await app.listen({ port: Number(process.env.PORT) })'
  for (const mode of ['throw', 'log']) {
    const started = run(t, preloaded(mode), { ...environmentOf(empty), PORT: port })
    t.equal(await started.exit(), 1)
    t.match(started.stderr, `${relative(ROOT, join(folder, 'app.ts'))}:5\n`)
    t.match(started.stderr, `\n> 5 | ${line}\n`)
    t.match(mode === 'log' ? started.stdout : started.stderr, 'EADDRINUSE')
  }
})

t.test('a thrown text has no place: nothing public leads to it', async (t) => {
  const [started, preload] = [startCommand(FAILING), preloaded('throw')].map((command) => run(t, command, environmentOf(join(folder, 'text.ts'))))
  t.equal(await started?.exit(), 1)
  t.equal(started?.stderr, 'no database\nThis is no Error, which would have its place: throw new Error(…)\n')
  t.equal(await preload?.exit(), 1)
  t.match(preload?.stderr, /^no database$/m)
})

t.test('a start that Hindsight refuses shows the call that registers it, and none of its own code', async (t) => {
  const registered = testdir(t, {
    'twice.ts': "import Fastify from 'fastify'\nimport hindsight from '#start/src/index.js'\nawait Fastify().register(hindsight, {})\n"
      .replace('#start', join(ROOT, 'packages/hindsight'))
  })
  const file = join(registered, 'twice.ts')
  const place = `${relative(ROOT, file)}:3\n`
  for (const [args, env, message, stderr] of [
    [[...REGISTER, file], {}, 'fastify-hindsight is registered twice', new RegExp(`^${place}[^]*\n {4}at .*${file}:3:17`)],
    [['--import=tsx', file], { NODE_ENV: 'test' }, '', /^$/],
    [[...REGISTER, file], { PROFILER: 'some' }, 'Environment: PROFILER must be "all", "errors" or "off", not "some"', /^(?![^]*\n {4}at )/]
  ] as const) {
    const started = run(t, { args: [...args], env: {} }, env)
    t.equal(await started.exit(), message === '' ? 0 : 1)
    t.match(started.stderr, message)
    t.match(started.stderr, stderr)
    t.notMatch(started.stderr, /hindsight\.ts|environment\.ts/)
  }
})

t.test('under npm run dev the browser shows the failure until the next change, and then the page', { timeout: 120_000 }, async (t) => {
  const browser = await chromium(t)
  if (browser === undefined) return
  // tsx does not watch folders with a dot.
  const outside = mkdtempSync(join(tmpdir(), 'hindsight-start-'))
  t.teardown(() => rmSync(outside, { recursive: true }))
  const [port, file] = [await freePort(), join(outside, 'changed.ts')]
  writeFileSync(file, failures.find(([name]) => name === 'duplicate')?.[1] ?? '')
  const { NODE_ENV: _environment, ...inherited } = process.env
  const env = { ...inherited, ...environmentOf(file), PORT: String(port), NODE_OPTIONS: FAILING.join(' ') }
  const npm = spawn('npm', ['run', 'dev'], { cwd: ROOT, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [npm.stdout, npm.stderr]) stream.setEncoding('utf8').on('data', (chunk: string) => { output += chunk })
  const ended = once(npm, 'close')
  t.teardown(async () => {
    if (npm.exitCode === null) process.kill(-(npm.pid as number), 'SIGKILL')
    await ended
  })
  const get = async (path: string): Promise<[status: number, text: string]> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { accept: 'text/html' } })
    return [response.status, await response.text()]
  }
  const until = async (path: string, status: number): Promise<string> => {
    for (const end = Date.now() + 60_000; Date.now() < end; await sleep(100)) {
      const [found, text] = await get(path).catch(() => [0, ''] as const)
      if (found === status) return text
    }
    throw new Error(`${path} is not answered with ${status}:\n${output}`)
  }
  const page = await until('/', 500)
  t.match(page, 'The application could not start: FastifyError.')
  t.match(page, '<title>Method &#39;GET&#39; already declared for route &#39;/a&#39; (500 Internal Server Error)</title>')
  t.match(page, `${file}:3:7`, 'the place')
  t.match(page.replace(/<[^>]*>/g, ' '), new RegExp(`first declaration\\s+${file}:2\\s`))
  t.match(page.replace(/<[^>]*>/g, ''), 'app.get(&#39;/a&#39;, () =', 'its source')
  t.match(await until('/fixed', 500), 'The application could not start', 'any path has it')
  t.match(output, `${file}:3\n`)
  t.match(page, '<noscript><meta http-equiv="refresh" content="2"></noscript>')
  const shown = await browser.newPage()
  await shown.goto(`http://127.0.0.1:${port}/fixed`)
  writeFileSync(file, "export default async (app) => {\n  app.get('/fixed', async () => 'fixed')\n}\n")
  await shown.getByText('fixed', { exact: true }).waitFor({ timeout: 60_000 })
  t.equal(await until('/fixed', 200), 'fixed')
  process.kill(npm.pid as number, 'SIGTERM')
  await ended
})

t.test('a port in use ends the start for development, too', async (t) => {
  const holder = createServer().listen(0, '127.0.0.1')
  t.teardown(() => holder.close())
  await once(holder, 'listening')
  const { port } = holder.address() as AddressInfo
  const started = run(t, devCommand(), { PORT: String(port) })
  t.equal(await started.exit(), 1)
  t.equal(started.stderr, `listen EADDRINUSE: address already in use 127.0.0.1:${port}\n`)
})
