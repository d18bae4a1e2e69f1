import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import t from 'tap'
import type { CpuRecord } from '../../src/parts/cpu/record.js'
import type { Profile } from '../../src/store/profile.js'
import { link, pack, unpack } from '../support/packed.js'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../../../..')
const FIXTURE = join(ROOT, 'packages/hindsight/test/fixtures/loaders/app.ts')
const folder = mkdtempSync(join(tmpdir(), 'hindsight-loaders-'))
const project = join(folder, 'project')

t.teardown(() => rmSync(folder, { recursive: true, force: true }))

const SOURCE = readFileSync(FIXTURE, 'utf8')

t.before(async () => {
  const { filename } = await pack(folder)
  const loaders = ['tsx', 'ts-node', 'esbuild-register', 'esbuild', 'typescript', '@types/node', 'undici-types']
  for (const name of [...await unpack(join(folder, filename), project), 'fastify', ...loaders]) link(project, name)
  cpSync(FIXTURE, join(project, 'app.ts'))
  writeFileSync(join(project, 'package.json'), '{ "private": true }')
  const compilerOptions = { target: 'es2022', module: 'commonjs', esModuleInterop: true, skipLibCheck: true, types: ['node'], ignoreDeprecations: '6.0' }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['app.ts'] }))
  await run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', project, '--outDir', join(project, 'dist'), '--sourceMap', '--noCheck'])
  for (const [name, source] of [['bundle', '../absent/app.ts'], ['webpack', 'webpack://shop/./src/app.ts'], ['present', 'webpack://shop/./app.ts']] as const) {
    const outfile = join(project, name, 'app.cjs')
    await build({
      entryPoints: [FIXTURE], outfile, bundle: true, platform: 'node', sourcemap: 'linked', external: ['fastify', 'fastify-hindsight'], logLevel: 'silent'
    })
    const map = JSON.parse(readFileSync(`${outfile}.map`, 'utf8')) as { sources: string[] }
    map.sources = [source]
    writeFileSync(`${outfile}.map`, JSON.stringify(map))
  }
})

const erase = join(ROOT, 'packages/hindsight/test/support/erase-types/register.js')
const CASES: ReadonlyArray<[name: string, args: string[], file: string]> = [
  ['tsx', ['--import=tsx', 'app.ts'], 'app.ts'],
  ['ts-node', ['-r', 'ts-node/register', 'app.ts'], 'app.ts'],
  ['esbuild-register', ['-r', 'esbuild-register', 'app.ts'], 'app.ts'],
  ['erased types', [`--import=${erase}`, 'app.ts'], 'app.ts'],
  ...'typescript' in process.features ? [['types erased by Node.js', ['app.ts'], 'app.ts']] as Array<[string, string[], string]> : [],
  ['node --test', ['--import=tsx', '--test', '--test-reporter=spec', 'app.ts'], 'app.ts'],
  ['a build with source maps', ['--enable-source-maps', 'dist/app.js'], 'app.ts'],
  ['a build whose source maps are not used', ['dist/app.js'], 'app.ts'],
  ['a bundle without its sources', ['--enable-source-maps', 'bundle/app.cjs'], 'absent/app.ts'],
  ['a bundle with the names of webpack', ['--enable-source-maps', 'webpack/app.cjs'], 'webpack://shop/src/app.ts'],
  ['a bundle with the names of webpack, and its sources', ['--enable-source-maps', 'present/app.cjs'], 'webpack://shop/app.ts']
]

for (const [name, args, file] of CASES) {
  t.test(`places of ${name}`, async (t) => {
    const { stdout } = await run(process.execPath, args, { cwd: project, env: { ...process.env, NODE_ENV: 'development' } })
    const [page = '', json = '', markdown = '', panel = ''] = JSON.parse(/^\[".*\]$/m.exec(stdout)?.[0] ?? '[]') as string[]
    const { exceptions, collectors } = JSON.parse(json) as Profile
    const own = exceptions.at(-1)?.frames.filter((frame) => frame.own) ?? []
    const { functions } = collectors.cpu as CpuRecord
    const summary = />(The handler of GET \/[^]*?failed with)/.exec(page)?.[1]?.replace(/<[^>]*>/g, '')
    const lineOf = (text: string): number => SOURCE.slice(0, SOURCE.indexOf(text)).split('\n').length
    const texts = ["throw new Error('No price')", 'return shop.find(', 'async function price', "app.get('/'"]
    const [thrown, called, handler, route] = texts.map(lineOf) as [number, number, number, number]
    const place = file.includes('://') ? file : join(project, file)
    t.same(own.map((frame) => [frame.file, frame.line]), [[place, thrown], [place, called]])
    const shown = [thrown, called].map((line) => existsSync(place) ? SOURCE.split('\n')[line - 1] : undefined)
    t.same(own.map(({ line, excerpt }) => excerpt?.lines[line - excerpt.start]), shown)
    t.equal(summary, `The handler of GET / (${file}:${route}) failed with`)
    // These loaders apply their source maps to stacks, and Node.js has none.
    const hasMap = !['ts-node', 'esbuild-register'].includes(name)
    t.match(functions.find(({ name }) => name === 'price'), { file, kind: 'own', ...(hasMap && { line: handler }) })
    for (const text of [page, markdown]) t.ok(text.includes(`${file}:${thrown}`))
    t.ok(panel.includes(`>${file}:${route}<`), 'the place of the route')
  })
}
