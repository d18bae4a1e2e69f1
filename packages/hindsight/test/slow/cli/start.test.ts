import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, watch, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import t, { type Test } from 'tap'
import { installed, link, pack, unpack } from '../../support/packed.js'

// What NODE_OPTIONS and a shell would read in another way.
const folder = mkdtempSync(join(tmpdir(), 'hindsight-start-'))
const project = join(folder, 'an app\'s "own" folder')
const COMMAND = join(project, 'node_modules/fastify-hindsight/bin/fastify-hindsight.js')
const ADDRESS = /^Profiler: (http:\/\/127\.0\.0\.1:\d+)\/_profiler\/(?: \(ready for queries of [^)]+\))?$/gm
const app = (types = '') => `
import Fastify from 'fastify'
const app = Fastify()
app.get('/', async ()${types} => ({ args: process.argv.slice(2) }))
app.get('/end/:code', (request) => { process.exit(Number(request.params.code)) })
app.get('/broken', async () => { throw new Error('broken') })
await app.listen({ port: 0 })
`

t.teardown(() => rmSync(folder, { recursive: true, force: true }))

t.before(async () => {
  mkdirSync(project)
  const { filename } = await pack(folder)
  for (const name of [...await unpack(join(folder, filename), project), 'fastify', '@photostructure/sqlite']) link(project, name)
  const files = {
    'app.js': app(),
    list: app(),
    'src/main.ts': app(': Promise<object>').replace('(request)', '(request: any)'),
    'plugin.js': 'export default async function (app, options) { app.get("/", async () => ({ plugin: true })) }',
    'package.json': JSON.stringify({ name: 'shop', type: 'module', main: 'app.js', scripts: { dev: 'echo before && node app.js', fail: 'exit 3' } })
  }
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(project, name, '..'), { recursive: true })
    writeFileSync(join(project, name), text)
  }
})

/** The command with these arguments, until it ends. */
class Started {
  output = ''
  readonly child: ChildProcess
  readonly ended: Promise<[number | null, NodeJS.Signals | null]>

  constructor (t: Test, args: readonly string[], variables: NodeJS.ProcessEnv = {}) {
    const { NODE_ENV: _environment, NODE_OPTIONS: _options, npm_execpath: _npm, ...inherited } = process.env
    const env = { ...inherited, STORAGE_URL: 'memory', ...variables }
    this.child = spawn(process.execPath, [COMMAND, ...args], { cwd: project, env, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => { this.output += text })
    }
    this.ended = once(this.child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
    t.teardown(async () => {
      this.child.kill('SIGTERM')
      await this.ended
    })
  }

  /** The address of the application that it has printed so many times. */
  async listening (count = 1): Promise<string> {
    for (;;) {
      const found = [...this.output.matchAll(ADDRESS)].at(count - 1)?.[1]
      if (found !== undefined) return found
      if (this.child.exitCode !== null) throw new Error(`It has ended: ${JSON.stringify(this.output)}`)
      await Promise.race([once(this.child.stdout as never, 'data'), once(this.child.stderr as never, 'data'), this.ended])
    }
  }
}

t.test('a file is started with the preload, its arguments, and its exit code', async (t) => {
  for (const name of ['app.js', 'app', '.', './list']) {
    const started = new Started(t, [name, 'one', '--watch', 'a "b"'])
    const origin = await started.listening()
    t.same(await (await fetch(origin)).json(), { args: ['one', '--watch', 'a "b"'] }, name)
    t.ok((await fetch(`${origin}/broken`)).headers.get('x-debug-token'), 'requests leave profiles')
    await fetch(`${origin}/end/3`).catch(() => {})
    t.same(await started.ended, [3, null])
    t.equal(started.output.match(ADDRESS)?.length, 1, 'the address is printed once')
  }
})

t.test('a signal ends the application, and then the command', async (t) => {
  for (const args of [['app.js'], ['dev']]) {
    const started = new Started(t, args)
    const origin = await started.listening()
    started.child.kill('SIGTERM')
    t.same(await started.ended, [null, 'SIGTERM'], args.join(' '))
    await t.rejects(fetch(origin), 'nothing listens any more')
  }
})

t.test('a script of package.json and a program of node_modules are started with the preload', async (t) => {
  const script = new Started(t, ['dev', 'one'])
  t.same(await (await fetch(await script.listening())).json(), { args: ['one'] })
  t.match(script.output, /^before$/m)
  const bin = join(project, 'node_modules/.bin')
  mkdirSync(bin, { recursive: true })
  symlinkSync(join(installed('fastify-cli'), 'cli.js'), join(bin, 'fastify'))
  // For its option 0, fastify-cli listens at 3000.
  const program = new Started(t, ['fastify', 'start', 'plugin.js'], { PORT: '0' })
  t.same(await (await fetch(await program.listening())).json(), { plugin: true })
})

t.test('npm itself runs without the preload, which would record it and connect to its debugger', async (t) => {
  for (const path of [undefined, process.env.npm_execpath]) {
    const dataDir = mkdtempSync(join(folder, 'data-'))
    const started = new Started(t, ['fail'], { STORAGE_URL: '', DATA_DIR: dataDir, ...path !== undefined && { npm_execpath: path } })
    t.same(await started.ended, [3, null])
    t.same(readdirSync(dataDir), [], started.output)
  }
})

t.test('--watch starts it again, and --open opens the browser once, without a shell', async (t) => {
  const browser = join(folder, 'browser')
  const opened = join(browser, 'opened')
  const programs = join(folder, 'programs')
  for (const made of [browser, programs]) mkdirSync(made)
  for (const name of ['open', 'xdg-open']) {
    writeFileSync(join(programs, name), `#!/bin/sh\nprintf '%s\\n' "$@" > '${opened}.part' && mv '${opened}.part' '${opened}'\n`, { mode: 0o755 })
  }
  const watcher = watch(browser)
  t.teardown(() => watcher.close())
  const PATH = [programs, process.env.PATH].join(delimiter)
  const started = new Started(t, ['--watch', '--open', 'app.js'], { PATH })
  const first = await started.listening()
  while (!existsSync(opened)) await once(watcher, 'change')
  // Node.js may not watch the file yet when the application listens: it is changed again after longer and longer times.
  const change = (times: number): void => {
    writeFileSync(join(project, 'app.js'), `${app()}// changed ${times} times\n`)
    changing = setTimeout(change, 5_000 * 2 ** times, times + 1)
  }
  let changing: NodeJS.Timeout | undefined
  change(1)
  t.teardown(() => clearTimeout(changing))
  t.not(await started.listening(2), first)
  clearTimeout(changing)
  t.same(readFileSync(opened, 'utf8'), `${first}/_profiler/\n`)
})

t.test('TypeScript runs with tsx of the application or on a later Node.js; otherwise a sentence says what to install', async (t) => {
  const runsTypes = Boolean((process.features as { typescript?: unknown }).typescript)
  const without = new Started(t, ['src/main.ts', 'one'])
  if (runsTypes) t.same(await (await fetch(await without.listening())).json(), { args: ['one'] })
  else {
    t.same(await without.ended, [1, null])
    t.match(without.output, /^fastify-hindsight: Node\.js [\d.]+ does not run TypeScript such as .*main\.ts\. Install tsx in /)
    t.ok(without.output.endsWith('your application: npm install --save-dev tsx\n'))
  }
  link(project, 'tsx')
  const started = new Started(t, ['src/main.ts', 'two'])
  t.same(await (await fetch(await started.listening())).json(), { args: ['two'] })
})

t.test('a file that only exports a plugin is named, and production has no pages', async (t) => {
  const started = new Started(t, ['plugin.js'])
  t.same(await started.ended, [0, null])
  t.equal(
    started.output, 'plugin.js has ended, and no application of Fastify 5 or 6 has listened. ' +
    'If it exports a plugin, start it with: fastify-hindsight fastify start <file>\n'
  )
  const production = new Started(t, ['plugin.js'], { NODE_ENV: 'production' })
  t.same(await production.ended, [0, null])
  t.equal(production.output, 'NODE_ENV is production: there are no pages of the profiler.\n')
})

t.test('the demo has five problems, and a page with links to the requests and to their profiles', async (t) => {
  const started = new Started(t, ['demo', '--port', '0'])
  const origin = await started.listening()
  const [page = ''] = (await (await fetch(origin)).text()).split('</ol>')
  const links = [...page.matchAll(/href="(\/[^"]*)"/g)].map(([, path = '']) => path.replaceAll('&amp;', '&'))
  t.equal(links.length, 10)
  // Node.js 20 has no SQLite.
  t.match(page, isBuiltin('node:sqlite') ? 'Which line sends a query for each of them?' : 'Which line calls another route for each of them?')
  const loop = isBuiltin('node:sqlite') ? /^N\+1: .*select count.* 20 times from app\.js:\d+/m : /^20 × GET http:.*\/items\/.* from app\.js:\d+/m
  const findings = [/Cannot read properties of undefined \(reading 'sell'\)/, loop, /blocked for .* makeReport \(app\.js:\d+\)/, /dropped response\.email/]
  for (const [index, finding] of findings.entries()) {
    const [request = '', profile = ''] = links.slice(2 * index)
    let text = ''
    // On a busy machine, the thread that asks which call blocks may ask after the block.
    for (let tries = 0; !finding.test(text) && tries < 10; tries++) {
      t.equal((await fetch(origin + request)).status, index === 0 ? 500 : 200, request)
      text = await (await fetch(origin + profile, { headers: { accept: 'text/markdown' } })).text()
    }
    t.match(text, finding, profile)
  }
  const [hang = '', list = ''] = links.slice(-2)
  const abort = new AbortController()
  const pending = fetch(origin + hang, { signal: abort.signal })
  let waiting: unknown[] = []
  while (waiting.length === 0) ({ waiting } = await (await fetch(`${origin}${list}waiting.json`)).json() as { waiting: unknown[] })
  t.match(JSON.stringify(waiting), /In the handler, app\.js:\d+/)
  abort.abort()
  await t.rejects(pending)
})

t.test('the demo says how to install Fastify where it is missing', async (t) => {
  rmSync(join(project, 'node_modules/fastify'))
  const started = new Started(t, ['demo'])
  t.same(await started.ended, [1, null])
  t.equal(started.output, 'fastify-hindsight: The demo needs Fastify. Install it in this folder: npm install fastify\n')
})
