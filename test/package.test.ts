import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import ts from 'typescript'
import type { Profile } from '../plugins/profiler/profile.js'
import { compile, SOURCE } from './frameworks/nest-application.js'
import { run as start } from './support/process.js'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '..')
const require = createRequire(import.meta.url)

interface Packed { files: Array<{ path: string }>, filename: string, unpackedSize: number }
interface Manifest { dependencies: Record<string, string>, peerDependencies: Record<string, string>, scripts?: object, devDependencies?: object }

const folder = mkdtempSync(join(tmpdir(), 'hindsight-package-'))
const consumer = join(folder, 'consumer')
let packed: Packed

t.teardown(() => rmSync(folder, { recursive: true, force: true }))

t.before(async () => {
  const dist = join(folder, 'dist')
  await run(process.execPath, ['--import=tsx', join(ROOT, 'packaging/build.ts'), dist], { cwd: ROOT })
  const { stdout } = await run('npm', ['pack', dist, '--json', '--loglevel=error', '--pack-destination', folder])
  const found = JSON.parse(stdout) as Packed[] | Record<string, Packed>
  packed = Object.values(found)[0] as Packed
  // As npm installs it, but that what it depends on is here already.
  const installed = join(consumer, 'node_modules/fastify-hindsight')
  mkdirSync(installed, { recursive: true })
  await run('tar', ['-xzf', join(folder, packed.filename.replace(/^@|\//g, '')), '-C', installed, '--strip-components=1'])
  const { dependencies } = manifestOf(installed)
  // What is preloaded by name is looked for from where fastify-cli itself lies.
  cpSync(join(ROOT, 'node_modules/fastify-cli'), join(consumer, 'node_modules/fastify-cli'), { recursive: true })
  for (const name of [...Object.keys({ ...manifestOf(join(ROOT, 'node_modules/fastify-cli')).dependencies, ...dependencies }), '@types/node', 'undici-types', 'typescript']) {
    const place = join(consumer, 'node_modules', name)
    mkdirSync(join(place, '..'), { recursive: true })
    if (existsSync(join(ROOT, 'node_modules', name)) && !existsSync(place)) symlinkSync(join(ROOT, 'node_modules', name), place)
  }
  writeFileSync(join(consumer, 'package.json'), '{ "private": true, "type": "module" }')
  cpSync(join(import.meta.dirname, 'fixtures/consumer'), consumer, { recursive: true })
})

function manifestOf (place: string): Manifest {
  return JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as Manifest
}

t.test('the package holds what is needed to run it, and nothing else', async (t) => {
  const paths = packed.files.map(({ path }) => path)
  for (const needed of ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md', 'app/index.js', 'app/index.cjs', 'app/index.d.cts', 'app/index.d.ts', 'app/storage.js', 'app/storage-contract.js', 'app/storage-contract.d.ts', 'bin/hindsight.js', 'plugins/profiler/storage/sqlite/worker.js', 'plugins/profiler/storage/sqlite/worker-entry.js', 'routes/_profiler/index.js', 'plugins/view/tokens.css', 'plugins/profiler/ui/toolbar/script.js']) t.ok(paths.includes(needed), needed)
  for (const needed of ['app/nest.js', 'app/nest.cjs', 'app/nest.d.cts', 'app/nest.d.ts']) t.ok(paths.includes(needed), needed)
  t.same(paths.filter((path) => !/^(?:(?:app|plugins|routes|bin)\/.*\.(?:c?js|css|d\.c?ts)|package\.json|[A-Z]+(?:\.md)?)$/.test(path)), [])
  t.ok(packed.unpackedSize < 2_000_000, `${packed.unpackedSize} bytes`)
})

t.test('nothing runs when it is installed', async (t) => {
  const manifest = manifestOf(join(consumer, 'node_modules/fastify-hindsight'))
  t.equal(manifest.scripts, undefined)
  t.equal(manifest.devDependencies, undefined)
  t.notOk('tsx' in manifest.dependencies)
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as { packages: Record<string, { dev?: boolean, optional?: boolean, hasInstallScript?: boolean, resolved?: string, integrity?: string }> }
  const packages = Object.entries(lock.packages).filter(([place]) => place !== '')
  const withScript = packages.filter(([place, { hasInstallScript }]) => hasInstallScript === true && !isOfTsx(place))
  t.same(withScript.filter(([, { dev }]) => dev !== true).map(([place]) => place), [])
  const optional = withScript.filter(([place]) => place.replace('node_modules/', '') in manifest.peerDependencies).map(([place]) => place)
  t.same(optional, ['node_modules/@photostructure/sqlite'], 'of the optional peers')
  t.ok(existsSync(join(ROOT, 'node_modules/@photostructure/sqlite/prebuilds')), 'its script selects a prebuilt binary, which is part of it')
  t.same(packages.filter(([, { integrity }]) => integrity === undefined).map(([place]) => place), [], 'each package of the lockfile has its hash')
})

t.test('docs/architecture.md names each dependency and each optional peer, and why', async (t) => {
  const { dependencies, peerDependencies } = manifestOf(ROOT)
  const section = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8').split('## Dependencies, and why each')[1]?.split('\n## ')[0] ?? ''
  const [required = '', optional = ''] = section.split('### Optional peers')
  const namesIn = (table: string): string[] => [...table.matchAll(/`((?:@[\w-]+\/)?[\w.-]+)`(?=[^|]*\|[^|]*\|$)/gm)].map(([, name = '']) => name)
  t.same(namesIn(required).sort(), Object.keys(dependencies).sort())
  t.same(namesIn(optional).sort(), Object.keys(peerDependencies).sort())
})

t.test('a TypeScript project compiles against it, as strictly as can be', async (t) => {
  const compiler = require.resolve('typescript/bin/tsc')
  const { stdout } = await run(process.execPath, [compiler, '--pretty', 'false', '-p', consumer]).catch((error: { stdout: string }) => error)
  t.equal(stdout, '')
})

t.test('it compiles as CommonJS too, and for a bundler; what is declared for require is all that there is', async (t) => {
  const compiler = require.resolve('typescript/bin/tsc')
  await Promise.all(([['node16', 'node16', 'consumer.cts'], ['esnext', 'bundler', 'consumer.ts']] as const).map(async ([module, resolution, file]) => {
    const given = ['--module', module, '--moduleResolution', resolution, '--target', 'es2023', '--strict', '--exactOptionalPropertyTypes', '--noEmit', '--types', 'node', '--ignoreConfig']
    const { stdout } = await run(process.execPath, [compiler, '--pretty', 'false', ...given, join(consumer, file)]).catch((error: { stdout: string }) => error)
    t.equal(stdout, '', `${file}, ${resolution}`)
  }))
  const declared = [...readFileSync(join(ROOT, 'app/index.d.cts'), 'utf8').matchAll(/declare const (\w+)/g)].map(([, name]) => name)
  t.same(declared.sort(), Object.keys(await import('../app/index.js')).filter((name) => name !== 'default').sort())
})

// tsx turns what is required into CommonJS.
for (const [name, file, ...preload] of [['an ES module', 'consumer.mjs'], ['CommonJS', 'consumer.cjs'], ['CommonJS by tsx', 'consumer.cjs', `--import=${import.meta.resolve('tsx')}`]] as const) {
  t.test(`${name} runs`, async (t) => {
    const { stdout } = await run(process.execPath, [...preload, join(consumer, file)], { cwd: consumer, env: { ...process.env, NODE_ENV: 'development' } })
    t.same(JSON.parse(stdout), { list: 200, status: 500, page: true, token: true, stored: 500 })
  })
}

t.test('the package stores profiles in SQLite, which its command reads', async (t) => {
  const library = join(consumer, 'node_modules/@photostructure/sqlite')
  mkdirSync(join(library, '..'), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules/@photostructure/sqlite'), library)
  t.teardown(() => rmSync(library))
  writeFileSync(join(consumer, 'stores.mjs'), `
import Fastify from 'fastify'
import hindsight from 'fastify-hindsight'
const app = Fastify()
await app.register(hindsight, { lifecycle: 'full', debug: true, session: false, profiler: { dataDir: 'data' } })
app.get('/', async () => 'hello')
const { headers } = await app.inject('/')
await app.close()
process.stdout.write(headers['x-debug-token'])
`)
  const { stdout: token, stderr } = await run(process.execPath, ['stores.mjs'], { cwd: consumer })
  t.equal(stderr, '')
  const command = ['node_modules/fastify-hindsight/bin/hindsight.js', 'show', token, '--json', '--data-dir', 'data']
  t.match(JSON.parse((await run(process.execPath, command, { cwd: consumer })).stdout), { token, status: 200 })
})

t.test('the contract test of the package runs', async (t) => {
  writeFileSync(join(consumer, 'contract.mjs'), `
import { MemoryStorage } from 'fastify-hindsight/storage'
import { storageContract } from 'fastify-hindsight/storage-contract'
for (const { run } of storageContract((bounds) => new MemoryStorage(bounds))) await run()
process.stdout.write('passed')
`)
  t.equal((await run(process.execPath, ['contract.mjs'], { cwd: consumer })).stdout, 'passed')
})

t.test('the command of the package runs', async (t) => {
  const { stdout } = await run(process.execPath, [join(consumer, 'node_modules/fastify-hindsight/bin/hindsight.js'), '--help'])
  t.match(stdout, /Usage: hindsight <command>/)
})

const REGISTER = 'fastify-hindsight/register'

for (const [name, ...preload] of [['the plugin'], ['the preload', `--import=${REGISTER}`]] as const) {
  t.test(`NestJS, compiled to CommonJS, runs with ${name}`, async (t) => {
    const folder = join(consumer, 'node_modules')
    for (const library of ['@nestjs', 'rxjs', 'reflect-metadata']) {
      if (!existsSync(join(folder, library))) symlinkSync(join(ROOT, 'node_modules', library), join(folder, library))
    }
    writeFileSync(join(consumer, 'application.cjs'), compile(SOURCE, ts.ModuleKind.CommonJS))
    const env = { DATA_DIR: join(consumer, 'nest-data'), NODE_OPTIONS: '', NODE_ENV: 'development' }
    const args = ['--enable-source-maps', ...preload, 'nest.cjs', ...preload.length > 0 ? ['preloaded'] : []]
    const { stdout } = await run(process.execPath, args, { cwd: consumer, env: { ...process.env, ...env } })
    const { route, exceptions, logs, status } = JSON.parse(stdout.split('\n').at(-1) ?? '') as Profile
    t.equal(status, 500)
    t.match(route, { controller: 'CatsController.findOne', handler: /fixtures\/nest\/application\.ts:\d+$/ })
    t.same(exceptions.map(({ message }) => message), ['The box is open', 'The cat is not in the box'])
    t.ok(logs.some(({ channel, message }) => channel === 'CatsService' && message === 'Looking for cat 0'))
    t.match(stdout, /CatsService.*Looking for cat 0/, 'the output stays')
  })
}
const CLI = ['node_modules/fastify-cli/cli.js', 'start', '--log-level', 'info']

for (const [name, ...args] of [
  ['fastify start -r, CommonJS', ...CLI, '-r', REGISTER, 'plugin.cjs'],
  ['fastify start -r, an ES module', ...CLI, '-r', REGISTER, 'plugin.mjs'],
  ['node --import and fastify-cli, an ES module', `--import=${REGISTER}`, ...CLI, 'plugin.mjs'],
  ['node --import, an ES module', `--import=${REGISTER}`, 'server.mjs'],
  ['node --import, CommonJS', `--import=${REGISTER}`, 'server.cjs'],
  ['node -r, CommonJS', '-r', REGISTER, 'server.cjs']
] as const) {
  t.test(`an application that says nothing of us, by ${name}`, async (t) => {
    const started = start(t, { args: [...args], env: { STORAGE_URL: 'memory' }, cwd: consumer, alone: args[0] === '-r' })
    const url = `http://127.0.0.1:${await listening(started)}`
    const answer = await fetch(`${url}/`)
    t.same([answer.status, await answer.json(), answer.headers.get('x-stamp')], [200, { hello: 'world' }, '1'])
    const profile = await (await fetch(`${url}/_profiler/${answer.headers.get('x-debug-token')}.json`)).json() as { url: string, events: Array<{ listener: string }> }
    t.equal(profile.url, `${url}/`)
    t.ok(profile.events.some(({ listener }) => listener === 'stamp'), 'its own hook is told')
    const failed = await fetch(`${url}/broken`, { headers: { accept: 'text/html' } })
    t.match([failed.status, await failed.text()], [500, /<title>This is what a failure looks like[^]*async function broken/])
    t.same(await (await fetch(`${url}/broken`)).json(), { statusCode: 500, error: 'Internal Server Error', message: 'This is what a failure looks like' }, 'who names no form gets what Fastify answers')
  })
}

async function listening (started: ReturnType<typeof start>): Promise<string> {
  return (await started.said(/Server listening at http:\/\/(?:127\.0\.0\.1|\[::1\]):(\d+)/))[1] ?? ''
}

t.test('hindsight lifecycle, and its check, of an application in JavaScript', async (t) => {
  const command = async (...args: string[]): Promise<{ code: number, stdout: string, stderr: string }> => {
    const options = { cwd: consumer, env: { ...process.env, NODE_ENV: 'development', STORAGE_URL: 'memory' } }
    return await run(process.execPath, ['node_modules/fastify-hindsight/bin/hindsight.js', 'lifecycle', ...args], options)
      .then((said) => ({ code: 0, ...said }), (error: { code: number, stdout: string, stderr: string }) => error)
  }
  for (const file of ['plugin.cjs', 'plugin.mjs', 'server.cjs', 'server.mjs', 'consumer.cjs']) {
    const { code, stdout, stderr } = await command(file)
    t.equal(code, 0, `${file}: ${stderr}`)
    t.match(stdout, file === 'consumer.cjs' ? /^Lifecycle in debug mode\n[^]*kernel\.request router/ : /^Lifecycle without fastify-hindsight\n\nGET \/\n {2}onRequest\n {4}stamp \(plugin\.cjs\)\n {2}handler\n {4}home \(plugin\.cjs\)\n/, file)
    writeFileSync(join(consumer, 'lifecycle.txt'), stdout)
    t.equal((await command(file, '--check', 'lifecycle.txt')).code, 0, file)
  }
  const source = readFileSync(join(consumer, 'plugin.cjs'), 'utf8')
  writeFileSync(join(consumer, 'lifecycle.txt'), (await command('plugin.cjs')).stdout)
  writeFileSync(join(consumer, 'plugin.cjs'), source.replace("app.get('/',", "app.addHook('preHandler', async function late () {})\n  app.get('/',"))
  const { code, stdout, stderr } = await command('plugin.cjs', '--check', 'lifecycle.txt')
  writeFileSync(join(consumer, 'plugin.cjs'), source)
  t.equal(code, 1)
  t.match(stdout + stderr, /\+ +late \(plugin\.cjs\)/)
})

// esbuild, which runs the sources here and is not shipped.
function isOfTsx (place: string): boolean {
  return /node_modules\/(?:tsx|esbuild|fsevents)$/.test(place)
}
