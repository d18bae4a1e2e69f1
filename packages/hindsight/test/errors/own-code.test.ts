import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire, findSourceMap } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { runInThisContext } from 'node:vm'
import { transformSync } from 'esbuild'
import type { FastifyPluginAsync } from 'fastify'
import t from 'tap'
import { functionPlace } from '../../src/errors/declared-place.js'
import { stackFrames } from '../../src/errors/stack-frame.js'
import type { Profile } from '../../src/store/profile.js'
import { inBothModes } from '../support/modes.js'

// The tests are started in another folder, as an application of a monorepo may be.
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'hindsight-workspace-')))
t.teardown(() => rmSync(folder, { recursive: true }))

const ROUTES = `const { price } = require('pricing')

module.exports = async function routes (app) {
  app.get('/', async function buy () {
    return price()
  })
}
`
for (const [file, text] of Object.entries({
  'packages/pricing/index.js': "exports.price = function price () {\n  throw new Error('No price')\n}\n",
  'apps/shop/routes.js': ROUTES,
  'apps/shop/node_modules/installed/index.js': 'exports.installed = function installed () {}\n'
})) {
  mkdirSync(join(folder, file, '..'), { recursive: true })
  writeFileSync(join(folder, file), text)
}
mkdirSync(join(folder, 'node_modules'))
symlinkSync('../packages/pricing', join(folder, 'node_modules/pricing'))

inBothModes('the code of a workspace is the application\'s, wherever the process was started', async (t, build) => {
  const { default: routes } = await import(pathToFileURL(join(folder, 'apps/shop/routes.js')).href) as { default: FastifyPluginAsync }
  const app = await build((app) => app.register(routes))
  const page = await app.inject({ url: '/', headers: { accept: 'text/html' } })
  const profile = `/_profiler/${page.headers['x-debug-token']}`
  const { exceptions } = (await app.inject(`${profile}.json`)).json<Profile>()
  const own = exceptions[0]?.frames.filter((frame) => frame.own) ?? []
  const pricing = join(folder, 'packages/pricing/index.js')
  t.same(own.map(({ file, line, excerpt }) => [file, line, excerpt?.lines[line - excerpt.start]]), [
    [pricing, 2, "  throw new Error('No price')"], [join(folder, 'apps/shop/routes.js'), 5, '    return price()']
  ])
  t.ok(page.body.includes(`The handler of GET / (${join(folder, 'apps/shop/routes.js')}:4) failed with`))
  t.match((await app.inject(`${profile}.md`)).body, `\`${pricing}:2\`\n\n\`\`\`js\n  1 | exports.price = function price () {\n> 2 |   throw new Error`)
})

t.test('a file that is reached by a link of a workspace is not part of a package', async (t) => {
  const [linked, installed] = stackFrames([
    `    at price (${folder}/node_modules/pricing/index.js:2:9)`, `    at installed (${folder}/apps/shop/node_modules/installed/index.js:1:1)`
  ].join('\n'))
  t.match(linked, { file: join(folder, 'packages/pricing/index.js'), own: true })
  t.match(installed, { file: join(folder, 'apps/shop/node_modules/installed/index.js'), own: false })
})

t.test('a function of compiled code has no place if no source map leads to its line', async (t) => {
  const file = join(folder, 'compiled.mjs')
  writeFileSync(file, '\n\nexport function compiled () {}\n')
  const { compiled } = await import(pathToFileURL(file).href) as { compiled: () => void }
  // As a loader does that removes lines.
  writeFileSync(file, 'const added = 1\n\n\n\nexport function compiled () {}\n')
  t.equal(functionPlace(compiled), null)
})

const SOURCE = `// Types of many lines: what compilers write has other lines. These are long enough for each column of what they write.
interface Price {
  amount: number // of the smallest unit, such as cents
  currency: string // of ISO 4217, such as EUR
  until: string // a date of RFC 3339, such as 2026-01-31
  from: string // a date of RFC 3339, such as 2026-01-01
}

function find (name: string): Price {
  throw new Error(\`No price of \${name}\`)
}

exports.price = async function price (): Promise<Price> {
  return find('shoes')
}
`
type Prepare = typeof Error.prepareStackTrace
const node: Prepare = Error.prepareStackTrace
const calls: Prepare = (error, calls) => `${String(error)}\n${calls.map((call) => `    at ${String(call)}`).join('\n')}`
const lines: Prepare = (error, calls) =>
  `${String(error)}\n${calls.map((call) => `    at ${call.getFunctionName()} (${call.getFileName()}:${call.getLineNumber()})`).join('\n')}`
/** As that of vite: what is at no position of the compiled code stays as it is. */
const vite: Prepare = (error, calls) => `${String(error)}\n${calls.map((call) => {
  const [file, line, column] = [call.getFileName() ?? '', call.getLineNumber() ?? 0, call.getColumnNumber() ?? 0]
  const entry = findSourceMap(file)?.findEntry(line - 1, column - 1)
  const isFound = entry !== undefined && 'generatedLine' in entry && entry.generatedLine === line - 1
  return `    at ${file}:${isFound ? entry.originalLine + 1 : line}:${isFound ? entry.originalColumn + 1 : column}`
}).join('\n')}`

let modules = 0
/** Loads a module as a loader does: the source on disk has the name of the compiled file, and its source map is in the code. */
function loaded (hasMap: boolean): { file: string, price: () => Promise<unknown> } {
  const file = join(folder, `loaded-${++modules}.js`)
  const banner = '// Added by the loader\n'.repeat(3)
  writeFileSync(file, transformSync(SOURCE, { loader: 'ts', format: 'cjs', banner, sourcefile: file, sourcemap: hasMap && 'inline' }).code)
  const { price } = createRequire(file)(file) as { price: () => Promise<unknown> }
  writeFileSync(file, SOURCE)
  return { file, price }
}

inBothModes('places are those of the source, whatever makes the stack; without a certain place there is none', async (t, build) => {
  process.setSourceMapsEnabled(true)
  t.teardown(() => { Error.prepareStackTrace = node })
  for (const [name, hasMap, prepare, [thrown, called, handler]] of [
    ['Node.js', true, node, [10, 14, 13]],
    ['no function', true, undefined, [10, 14, 13]],
    ['the calls', true, calls, [10, 14, 13]],
    ['another function', true, (...args: Parameters<NonNullable<Prepare>>) => node?.(...args), [10, 14, 13]],
    ['vite', true, vite, [10, 14, 13]],
    ['lines', true, lines, [0, 0, 13]],
    ['a function for some errors', true, (error, all) => { if (!error.message.startsWith('No')) throw error; return calls(error, all) }, [0, 0, 13]],
    ['a list', true, (_error, calls) => calls, [undefined, undefined, 13]],
    ['Node.js, no map', false, node, [0, 0, 0]],
    ['the calls, no map', false, calls, [0, 0, 0]]
  ] as ReadonlyArray<[string, boolean, Prepare, Array<number | undefined>]>) {
    const { file, price } = loaded(hasMap)
    Error.prepareStackTrace = prepare
    const app = await build((app) => { app.get('/', price) })
    const page = await app.inject({ url: '/', headers: { accept: 'text/html' } })
    const { exceptions } = (await app.inject(`/_profiler/${page.headers['x-debug-token']}.json`)).json<Profile>()
    Error.prepareStackTrace = node
    const found = exceptions[0]?.frames.filter((frame) => frame.own && frame.file === file) ?? []
    t.equal(exceptions[0]?.message, 'No price of shoes', name)
    t.same([found[0]?.line, found[1]?.line], [thrown, called], name)
    // Where the place of the handler is not certain, that of the declaration is shown.
    t.equal(page.body.includes(`The handler of GET / (${file}:${handler}) failed with`), handler !== 0, name)
  }
})

/** Loads a bundle with the names of webpack, whose source map has no source text (`nosources-source-map`). */
function bundled (name: string, sources: readonly string[]): () => Promise<unknown> {
  const file = join(folder, name, 'dist/app.cjs')
  for (const one of ['dist/app.cjs', ...sources]) mkdirSync(join(folder, name, one, '..'), { recursive: true })
  for (const source of sources) writeFileSync(join(folder, name, source), SOURCE)
  const { code, map } = transformSync(SOURCE, { loader: 'ts', format: 'cjs', sourcemap: true, sourcesContent: false })
  writeFileSync(`${file}.map`, JSON.stringify({ ...JSON.parse(map) as object, sources: [`webpack://${name}/./src/price.ts`] }))
  writeFileSync(file, `${code}//# source${'MappingURL'}=app.cjs.map\n`)
  return (createRequire(file)(file) as { price: () => Promise<unknown> }).price
}

inBothModes('the source of a bundle without source texts is the file on disk, if that is certain', async (t, build, mode) => {
  process.setSourceMapsEnabled(true)
  for (const [name, sources, found] of [
    [`one-${mode}`, ['src/price.ts'], true], [`none-${mode}`, [], false], [`several-${mode}`, ['src/price.ts', 'dist/src/price.ts'], false]
  ] as const) {
    const app = await build((app) => app.get('/', bundled(name, sources)))
    const page = await app.inject({ url: '/', headers: { accept: 'text/html' } })
    const profile = `/_profiler/${page.headers['x-debug-token']}`
    const { exceptions } = (await app.inject(`${profile}.json`)).json<Profile>()
    const place = found ? join(folder, name, 'src/price.ts') : `webpack://${name}/src/price.ts`
    const frames = exceptions[0]?.frames.filter(({ own }) => own).slice(0, 2)
    t.same(frames?.map(({ file, line, excerpt }) => [file, line, excerpt?.lines[line - excerpt.start]]), [
      [place, 10, found ? SOURCE.split('\n')[9] : undefined], [place, 14, found ? SOURCE.split('\n')[13] : undefined]
    ], name)
    t.ok(page.body.includes(`The handler of GET / (${place}:13) failed with`), name)
    t.ok((await app.inject(`${profile}.md`)).body.includes(`${place}:10`), name)
  }
})

inBothModes('a module of a bundle that is evaluated without a source map has its name and no line', async (t, build, mode) => {
  const name = `webpack:///./src/${mode}.ts?`
  const { code } = transformSync(SOURCE, { loader: 'ts', format: 'cjs' })
  const exported: { price?: () => Promise<unknown> } = {}
  // As webpack does with `devtool: 'eval'`, its default.
  runInThisContext(`(exports) => { eval(${JSON.stringify(`${code}\n//# sourceURL=${name}`)}) }`)(exported)
  const app = await build((app) => { app.get('/', exported.price as () => Promise<unknown>) })
  const page = await app.inject({ url: '/', headers: { accept: 'text/html' } })
  const token = String(page.headers['x-debug-token'])
  const { exceptions, route } = (await app.inject(`/_profiler/${token}.json`)).json<Profile>()
  const own = exceptions[0]?.frames.filter((frame) => frame.file === name)
  t.same(own?.map((frame) => [frame.line, frame.own, frame.excerpt]), [[0, true, undefined], [0, true, undefined]])
  t.notMatch(route?.handler, /webpack.*:\d/)
  const { body } = await app.inject(`/_profiler/${token}.md`)
  // Only the stack of the error has the positions of compiled code.
  for (const text of [page.body, body]) t.notMatch(text, /\.ts\?:(?!\d+:\d)/)
})
