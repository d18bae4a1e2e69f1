import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { publint } from 'publint'
import t from 'tap'
import ts from 'typescript'
import type { Profile } from '../../src/store/profile.js'
import { compile, SOURCE } from './frameworks/nest-application.js'
import { installed as folderOf, link as linkTo, pack, unpack, type Packed } from '../support/packed.js'
import { isLong } from '../support/long.js'
import { run as start } from '../support/process.js'
import { snippetsOf } from '../support/snippets.js'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../../../..')
const PACKAGE = join(ROOT, 'packages/hindsight')
const require = createRequire(import.meta.url)

interface Manifest {
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
  peerDependencies: Record<string, string>
  peerDependenciesMeta: Record<string, object>
  scripts: Record<string, string>
  exports: Record<string, { import: { default: string }, require: { types: string, default: string } }>
}

const folder = mkdtempSync(join(tmpdir(), 'hindsight-package-'))
const consumer = join(folder, 'consumer')
const installed = join(consumer, 'node_modules/fastify-hindsight')
let packed: Packed
let archive: string

t.teardown(() => rmSync(folder, { recursive: true, force: true }))

t.before(async () => {
  packed = await pack(folder)
  archive = join(folder, packed.filename)
  const dependencies = await unpack(archive, consumer)
  // fastify-cli resolves modules to preload from its own folder.
  cpSync(join(ROOT, 'node_modules/fastify-cli'), join(consumer, 'node_modules/fastify-cli'), { recursive: true })
  const needed = new Set([...Object.keys(manifestOf(join(ROOT, 'node_modules/fastify-cli')).dependencies), ...dependencies])
  for (const name of [...needed, 'fastify', '@nestjs', 'rxjs', 'reflect-metadata', '@types/node', 'undici-types', 'typescript']) link(name)
  writeFileSync(join(consumer, 'package.json'), '{ "private": true, "type": "module" }')
  mkdirSync(join(consumer, 'node_modules/.bin'))
  symlinkSync('../fastify-cli/cli.js', join(consumer, 'node_modules/.bin/fastify'))
  cpSync(join(import.meta.dirname, '../fixtures/consumer'), consumer, { recursive: true })
})

/** Makes a package of this project available to the consumer. */
function link (name: string, target = name): string {
  return linkTo(consumer, name, target)
}

function manifestOf (place: string): Manifest {
  return JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as Manifest
}

t.test('the package has exactly the files that it needs', async (t) => {
  const paths = packed.files.map(({ path }) => path)
  const { exports } = manifestOf(PACKAGE)
  const entries = Object.values(exports).flatMap(({ import: esm, require: cjs }) => esm === undefined ? [] : [esm.default, cjs.default, cjs.types])
  const needed = [
    ...entries.map((path) => path.slice(2)), 'package.json', 'README.md', 'LICENSE', 'bin/fastify-hindsight.js',
    'dist/store/sqlite/worker.cjs', 'dist/store/sqlite/worker-entry.js', 'dist/cli/demo/app.js', 'dist/cli/demo/page.html'
  ]
  for (const path of needed) t.ok(paths.includes(path), path)
  const allowed = new RegExp([
    'dist\\/.*\\.(?:c?js|d\\.c?ts)', 'dist\\/cli\\/demo\\/page\\.html', 'bin\\/[\\w-]+\\.js', 'package\\.json', 'README\\.md', 'LICENSE'
  ].map((one) => `^${one}$`).join('|'))
  t.same(paths.filter((path) => !allowed.test(path)), [])
  const sources = readdirSync(join(PACKAGE, 'src'), { recursive: true, encoding: 'utf8' }).map((file) => file.replace(/(?:\.d)?\.c?[tj]s$/, ''))
  const modules = paths.filter((path) => /^dist\/(?!chunks\/)/.test(path)).map((path) => path.slice('dist/'.length).replace(/(?:\.d)?\.c?[tj]s$/, ''))
  t.same(modules.filter((path) => !sources.includes(path)), [], 'each module has a source')
  t.ok(packed.unpackedSize < 2_200_000, `${packed.unpackedSize} bytes`)
})

t.test('frames of the package lead to readable code, with the names and comments of its source', async (t) => {
  const { stdout } = await run(process.execPath, [join(consumer, 'stack.mjs')], { cwd: consumer })
  const [, file = '', line = ''] = /fastify-hindsight\/(dist\/\S+\.cjs):(\d+)/.exec(stdout) ?? []
  const code = readFileSync(join(installed, file), 'utf8').split('\n')
  t.match(code[Number(line) - 1], /throw new Error\(/)
  const before = code.slice(0, Number(line)).findLast((text) => text.startsWith('/**'))
  t.ok(readFileSync(join(ROOT, 'packages/hindsight/src/check-options.ts'), 'utf8').includes(before ?? 'none'), `${before ?? ''}`)
})

t.test('a start with the plugin loads few files of the package', async (t) => {
  const files = async (environment: string): Promise<string[]> => {
    const env = { ...process.env, NODE_ENV: environment }
    const { stdout } = await run(process.execPath, [join(consumer, 'loaded.cjs')], { cwd: consumer, env })
    return JSON.parse(stdout) as string[]
  }
  const debug = await files('development')
  t.ok(debug.length > 3 && debug.length < 20, debug.join(' '))
  const production = await files('production')
  t.ok(production.length > 1 && production.length < 9, production.join(' '))
  t.notMatch(production.join(' '), /observe/)
})

t.test('publint and attw report no problem', async (t) => {
  const { messages } = await publint({ pkgDir: installed, pack: false, strict: true })
  t.same(messages, [])
  const attw = await run(process.execPath, [join(folderOf('@arethetypeswrong/cli'), 'dist/index.js'), archive, '--format', 'json']).catch(
    (error: { stdout: string }) => error
  )
  t.same((JSON.parse(attw.stdout) as { problems?: object }).problems ?? {}, {})
})

t.test('installing the package runs no script, and its dependencies download nothing', async (t) => {
  const manifest = manifestOf(installed)
  for (const script of ['preinstall', 'install', 'postinstall', 'prepare']) t.notOk(script in manifest.scripts, script)
  t.notOk('tsx' in manifest.dependencies)
  t.notOk('fastify' in manifest.dependencies, 'it uses the Fastify of the application')
  const lock = JSON.parse(
    readFileSync(join(ROOT, 'package-lock.json'), 'utf8')
  ) as { packages: Record<string, { dev?: boolean, devOptional?: boolean, hasInstallScript?: boolean, resolved?: string, integrity?: string }> }
  const packages = Object.entries(lock.packages).filter(([place]) => /(?:^|\/)node_modules\/(?!fastify-hindsight$)/.test(place))
  const withScript = packages.filter(([, { hasInstallScript }]) => hasInstallScript === true)
  t.same(withScript.filter(([, { dev, devOptional }]) => dev !== true && devOptional !== true).map(([place]) => place), [])
  const optional = withScript.filter(([place]) => place.replace('node_modules/', '') in manifest.peerDependencies).map(([place]) => place)
  t.same(optional, ['node_modules/@photostructure/sqlite'], 'of the optional peers')
  t.ok(existsSync(join(ROOT, 'node_modules/@photostructure/sqlite/prebuilds')), 'its script selects a prebuilt binary, which is part of it')
  t.same(packages.filter(([, { integrity }]) => integrity === undefined).map(([place]) => place), [], 'each package of the lockfile has its hash')
})

t.test('beside what Fastify depends on, the package has at most 10 dependencies', async (t) => {
  const ofFastify = Object.keys(manifestOf(folderOf('fastify')).dependencies)
  const others = Object.keys(manifestOf(PACKAGE).dependencies).filter((name) => !ofFastify.includes(name))
  t.ok(others.length <= 10, others.join(' '))
})

t.test('docs/architecture.md names each dependency and each optional peer, with the reason', async (t) => {
  const section = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8').split('## Dependencies, and why each')[1]?.split('\n## ')[0] ?? ''
  const [ofPackage = '', ofService = '', optional = ''] = section.split('\n### ').slice(1)
  const namesIn = (table: string): string[] => [...table.matchAll(/`((?:@[\w-]+\/)?[\w.-]+)`(?=[^|]*\|[^|]*\|$)/gm)].map(([, name = '']) => name).sort()
  const { dependencies, peerDependencies, peerDependenciesMeta } = manifestOf(PACKAGE)
  const [optionalPeers, peers] = [true, false].map((isOptional) => Object.keys(peerDependencies).filter((name) => name in peerDependenciesMeta === isOptional))
  t.same(namesIn(ofPackage), [...Object.keys(dependencies), ...peers ?? []].sort())
  t.same(namesIn(ofService), Object.keys(manifestOf(ROOT).dependencies).filter((name) => name !== 'fastify-hindsight').sort())
  t.same(namesIn(optional), optionalPeers)
})

t.test('a strict TypeScript project compiles with the package', async (t) => {
  const compiler = require.resolve('typescript/bin/tsc')
  const { stdout } = await run(process.execPath, [compiler, '--pretty', 'false', '-p', consumer]).catch((error: { stdout: string }) => error)
  t.equal(stdout, '')
})

/** A program takes ten seconds to compile: files that do not change each other's types are compiled together. */
const PROGRAMS: Array<[version: string, resolution: string, files: string[]]> = [
  ['typescript', 'nodenext', ['consumer.cts', 'undeclared.ts', 'start.ts', 'entries.ts', 'entries.cts']],
  // An application that only observes: its own types, and those of its other plugins, stay.
  ['typescript', 'node16', ['observed.cts']],
  ['typescript-5.9', 'bundler', ['start.ts', 'entries.ts']]
]
if (isLong) {
  PROGRAMS.push(
    ['typescript', 'node16', ['consumer.cts', 'consumer.ts']],
    ['typescript', 'bundler', ['consumer.ts', 'start.ts', 'entries.ts']],
    ['typescript', 'bundler', ['observed.ts']],
    ['typescript-5.9', 'nodenext', ['start.ts', 'entries.ts', 'entries.cts']]
  )
}

t.test('the types and each entry compile strictly for CommonJS, node16 and bundlers', async (t) => {
  const names = Object.keys(manifestOf(PACKAGE).exports).filter((entry) => entry !== './package.json')
  const imports = names.map((entry, i) => `import * as entry${i} from 'fastify-hindsight${entry.slice(1)}'\nvoid entry${i}\n`)
  const requires = imports.map((line) => line.replace(/\* as (\w+) from ('.*')/, '$1 = require($2)'))
  writeFileSync(join(consumer, 'entries.ts'), imports.join(''))
  writeFileSync(join(consumer, 'entries.cts'), requires.join(''))
  const start = "import Fastify from 'fastify'\nimport hindsight from 'fastify-hindsight'\nawait Fastify().register(hindsight)\n"
  writeFileSync(join(consumer, 'start.ts'), start)
  for (const [version, resolution, files] of PROGRAMS) {
    const flags = ['--pretty', 'false', '--noEmit', '--strict', '--target', 'es2022', '--types', 'node']
    const module = resolution === 'bundler' ? 'esnext' : resolution
    flags.push('--module', module, '--moduleResolution', resolution)
    // A later compiler refuses files where there is a tsconfig.json.
    if (version === 'typescript') flags.push('--exactOptionalPropertyTypes', '--ignoreConfig')
    const compiler = join(folderOf(version), 'bin/tsc')
    const { stdout } = await run(process.execPath, [compiler, ...flags, ...files], { cwd: consumer }).catch((error: { stdout: string }) => error)
    // Declarations of other packages may have errors of their own.
    const faults = stdout.split('\n').filter((line) => line.includes('error TS') && !/node_modules\/(?!fastify-hindsight\/)/.test(line))
    t.same(faults, [], `${version}, ${resolution}: ${files.join()}`)
  }
})

t.test('the declarations for require have all exports', async (t) => {
  const entries = Object.entries(manifestOf(PACKAGE).exports).flatMap(([entry, { require: cjs }]) =>
    cjs === undefined || entry === './register' ? [] : [[entry, cjs] as const])
  const program = ts.createProgram(entries.map(([, cjs]) => join(installed, cjs.types)), { module: ts.ModuleKind.NodeNext, types: [] })
  for (const [entry, cjs] of entries) {
    const own = (name = ''): boolean => !['default', 'hindsight', 'fastifyHindsight', '__esModule'].includes(name)
    const declared = declaredValues(program, join(installed, cjs.types)).filter(own)
    const exported = Object.keys(require(join(installed, cjs.default)) as object).filter(own)
    t.same(declared.sort(), exported.sort(), entry)
    t.ok(exported.length > 0)
  }
})

/** The names of the values that a declaration file of CommonJS exports: the properties of `export =`, or constants. */
function declaredValues (program: ts.Program, path: string): string[] {
  const checker = program.getTypeChecker()
  const file = program.getSourceFile(path)
  const assigned = file && checker.getSymbolAtLocation(file)?.exports?.get(ts.InternalSymbolName.ExportEquals)
  if (assigned !== undefined) return checker.getPropertiesOfType(checker.getTypeOfSymbol(assigned)).map(({ name }) => name)
  return [...readFileSync(path, 'utf8').matchAll(/^ *export (?:declare )?const (\w+)/gm)].map(([, name = '']) => name)
}

// tsx compiles required modules to CommonJS.
for (const [name, file, ...preload] of [
  ['an ES module', 'consumer.mjs'], ['CommonJS', 'consumer.cjs'], ['CommonJS by tsx', 'consumer.cjs', `--import=${import.meta.resolve('tsx')}`]
] as const) {
  t.test(`${name} runs`, async (t) => {
    const { stdout } = await run(process.execPath, [...preload, join(consumer, file)], { cwd: consumer, env: { ...process.env, NODE_ENV: 'development' } })
    t.same(JSON.parse(stdout), { list: 200, status: 500, page: true, token: true, stored: 500 })
  })
}

t.test('a wrong option has the place where CommonJS registers the package', async (t) => {
  const source = "const app = require('fastify')()\napp.register(require('fastify-hindsight'), { profler: 1 })\napp.ready()\n"
  writeFileSync(join(consumer, 'wrong.cjs'), source)
  const { stderr } = await run(process.execPath, ['wrong.cjs'], { cwd: consumer }).catch((error: unknown) => error as { stderr: string })
  t.match(stderr, /Error: Unknown option "profler"; did you mean "profiler"\?\n {4}at .*wrong\.cjs:2:5/)
})

t.test('the package stores profiles in SQLite, and its command reads them', async (t) => {
  const library = join(consumer, 'node_modules/@photostructure/sqlite')
  mkdirSync(join(library, '..'), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules/@photostructure/sqlite'), library)
  t.teardown(() => rmSync(library))
  writeFileSync(join(consumer, 'stores.mjs'), `
import Fastify from 'fastify'
import hindsight from 'fastify-hindsight'
const app = Fastify()
await app.register(hindsight, { debug: true, profiler: { dataDir: 'data' } })
app.get('/', async () => 'hello')
const { headers } = await app.inject('/')
await app.close()
process.stdout.write(headers['x-debug-token'])
`)
  const { stdout: token, stderr } = await run(process.execPath, ['stores.mjs'], { cwd: consumer })
  t.equal(stderr, '')
  const command = ['node_modules/fastify-hindsight/bin/fastify-hindsight.js', 'show', token, '--json', '--data-dir', 'data']
  t.match(JSON.parse((await run(process.execPath, command, { cwd: consumer })).stdout), { token, status: 200 })
})

t.test('the contract test of the package passes', async (t) => {
  writeFileSync(join(consumer, 'contract.mjs'), `
import { MemoryStorage } from 'fastify-hindsight/storage'
import { storageContract } from 'fastify-hindsight/storage-contract'
for (const { run } of storageContract((bounds) => new MemoryStorage(bounds))) await run()
process.stdout.write('passed')
`)
  t.equal((await run(process.execPath, ['contract.mjs'], { cwd: consumer })).stdout, 'passed')
})

t.test('the package runs with Fastify 5.0.0', async (t) => {
  const place = join(consumer, 'node_modules/fastify')
  rmSync(place)
  link('fastify', 'fastify-5.0')
  t.teardown(() => {
    rmSync(place)
    link('fastify')
  })
  const { stdout } = await run(process.execPath, [join(consumer, 'consumer.mjs')], { cwd: consumer, env: { ...process.env, NODE_ENV: 'development' } })
  t.same(JSON.parse(stdout), { list: 200, status: 500, page: true, token: true, stored: 500 })
})

t.test('the command of the package runs', async (t) => {
  const { stdout } = await run(process.execPath, [join(consumer, 'node_modules/fastify-hindsight/bin/fastify-hindsight.js'), '--help'])
  t.match(stdout, /^ {7}fastify-hindsight <command> \[options\]$/m)
})

const REGISTER = 'fastify-hindsight/register'

for (const [name, ...preload] of [['the plugin'], ['the preload', `--import=${REGISTER}`]] as const) {
  t.test(`NestJS, compiled to CommonJS, runs with ${name}`, async (t) => {
    writeFileSync(join(consumer, 'application.cjs'), compile(SOURCE, ts.ModuleKind.CommonJS))
    const env = { DATA_DIR: join(consumer, 'nest-data'), NODE_ENV: 'development' }
    const args = ['--enable-source-maps', ...preload, 'nest.cjs', ...preload.length > 0 ? ['preloaded'] : []]
    const { stdout } = await run(process.execPath, args, { cwd: consumer, env: { ...process.env, ...env } })
    const { route, exceptions, logs, status } = JSON.parse(stdout.split('\n').at(-1) ?? '') as Profile
    t.equal(status, 500)
    t.match(route, { controller: 'CatsController.findOne' })
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
  t.test(`an application that does not mention Hindsight is observed, by ${name}`, async (t) => {
    const started = start(t, { args: [...args], env: { STORAGE_URL: 'memory' }, cwd: consumer })
    const url = `http://127.0.0.1:${await listening(started)}`
    const answer = await fetch(`${url}/`)
    t.same([answer.status, await answer.json(), answer.headers.get('x-stamp')], [200, { hello: 'world' }, '1'])
    const profile = await (await fetch(
      `${url}/_profiler/${answer.headers.get('x-debug-token')}.json`
    )).json() as { url: string, events: Array<{ listener: string }> }
    t.equal(profile.url, `${url}/`)
    t.ok(profile.events.some(({ listener }) => listener === 'stamp'), 'its own hook is recorded')
    const failed = await fetch(`${url}/broken`, { headers: { accept: 'text/html' } })
    t.match([failed.status, await failed.text()], [500, /<title>This is what a failure looks like[^]*async function broken/])
    t.same(
      await (await fetch(`${url}/broken`)).json(), { statusCode: 500, error: 'Internal Server Error', message: 'This is what a failure looks like' },
      'a request that does not prefer HTML receives the answer of Fastify'
    )
  })
}

const PRELOADED = ['README.md', 'docs/how-to/existing-application.md'].flatMap((page) => snippetsOf(page).flatMap(({ code }) => code.trim().split('\n'))
  .filter((line) => line.includes(` ${REGISTER} app.js`)).map((command) => ({ page, command })))

t.equal(PRELOADED.length, 2)
for (const { page, command } of PRELOADED) {
  t.test(`${page}: ${command}`, async (t) => {
    const args = command.replace(/^node /, '').split(' ')
    const started = start(t, { args, env: { STORAGE_URL: 'memory', FASTIFY_LOG_LEVEL: 'info' }, cwd: consumer })
    const url = `http://127.0.0.1:${await listening(started)}`
    const { headers } = await fetch(`${url}/`)
    t.equal((await fetch(`${url}/_profiler/${headers.get('x-debug-token')}.json`)).status, 200)
  })
}

t.test('docs/troubleshooting.md: the time of the start', async (t) => {
  const snippets = snippetsOf('docs/troubleshooting.md')
  const at = snippets.findIndex(({ code }) => code.includes('performance.now()'))
  const [line, commands] = [snippets[at]?.code ?? '', snippets[at + 1]?.code.trim().split('\n') ?? []]
  const source = readFileSync(join(consumer, 'app.js'), 'utf8')
  writeFileSync(join(consumer, 'app.js'), source.replace(/^ *await app\.listen.*\n/m, `$&${line}`))
  t.teardown(() => writeFileSync(join(consumer, 'app.js'), source))
  t.same(commands.map((command) => command.replace(/=\w+/, '')), ['NODE_ENV node app.js', 'NODE_ENV node app.js'])
  for (const command of commands) {
    const [, environment = ''] = /^NODE_ENV=(\w+)/.exec(command) ?? []
    await start(t, {
      args: [`--import=${REGISTER}`, 'app.js'],
      env: { STORAGE_URL: 'memory', SESSION_SECRET: 'a secret of the tests, thirty-two characters and more' },
      cwd: consumer
    }, { NODE_ENV: environment }).said(/^started after \d+ ms$/m)
  }
})

async function listening (started: ReturnType<typeof start>): Promise<string> {
  return (await started.said(/Server listening at http:\/\/(?:127\.0\.0\.1|\[::1\]):(\d+)/))[1] ?? ''
}

t.test('fastify-hindsight lifecycle runs on an application in JavaScript', async (t) => {
  const command = async (...args: string[]): Promise<{ code: number, stdout: string, stderr: string }> => {
    const options = { cwd: consumer, env: { ...process.env, NODE_ENV: 'development', STORAGE_URL: 'memory' } }
    return await run(process.execPath, ['node_modules/fastify-hindsight/bin/fastify-hindsight.js', 'lifecycle', ...args], options)
      .then((said) => ({ code: 0, ...said }), (error: { code: number, stdout: string, stderr: string }) => error)
  }
  for (const file of ['plugin.cjs', 'plugin.mjs', 'server.cjs', 'server.mjs', 'consumer.cjs']) {
    const { code, stdout, stderr } = await command(file)
    t.equal(code, 0, `${file}: ${stderr}`)
    t.match(
      stdout, file === 'consumer.cjs' ? /^GET \// : /^GET \/\n {2}onRequest\n {4}stamp \(plugin\.cjs\)\n {2}handler\n {4}home \(plugin\.cjs\)\n/,
      file
    )
  }
})
