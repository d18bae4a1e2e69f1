// Builds the package in dist/: JavaScript, declarations, and the files beside the sources that are not compiled. Texts
// that modules read from files beside them become literals, so that bundlers include them. Modules that are loaded
// together are joined: a start of an application takes less CPU time with few files. Names and comments are kept. All
// code is CommonJS, which `require` loads everywhere; an ES module for each entry exports its values.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rollup } from 'rollup'
import eraseTypes from 'ts-blank-space'
import { readText } from '../src/require.js'
import { readAsset } from '../src/view/asset.js'

const ROOT = join(import.meta.dirname, '..')
const DIST = join(ROOT, 'dist')
const SOURCES = join(ROOT, 'src')
const COMPILED = join(DIST, '.compiled')
const READERS = { readAsset, readText }
const SOURCE = /(?<!\.d)\.ts$/
/** Files of their own: frames of the queries are known by their folder, and the package is found by `require.cjs`. */
const SEPARATE = ['clock.js', 'require.js', 'queries/']
/** Entries of the package that `require` and `import` load. */
const ENTRIES = ['index', 'nest', 'queries', 'recorder', 'server-options', 'storage', 'storage-contract']
/** Modules that keep their place: entries, and what a file that is not compiled loads. */
const KEPT = [...ENTRIES, 'drivers', 'failed-start', 'preload', 'process-job', 'cli/run']
/**
 * Chunks with all that these modules import, without what an earlier chunk has: for each command and the rest, for a
 * lifecycle in production, for each start of the plugin, and for recording.
 */
const CHUNKS = {
  shared: ['errors/thrown-value.js', 'open-browser.js', 'similar-name.js', 'store/open.js', 'store/running-servers.js'],
  recorder: ['recorder.js'],
  hindsight: ['index.js'],
  observer: ['observer.js', 'store/memory.js', 'store/sqlite.js', 'store/sqlite/availability.js']
}

rmSync(DIST, { recursive: true, force: true })
const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc')
// The declarations take half of the time: they are made beside the rest.
const compilation = [compiler, '-p', join(import.meta.dirname, 'tsconfig.json')]
const declarations = spawn(process.execPath, compilation, { stdio: 'inherit' })
const compiledTypes = once(declarations, 'exit')
cpSync(SOURCES, DIST, { recursive: true, filter: (path) => !SOURCE.test(path) })
for (const path of filesIn(SOURCES).filter((path) => SOURCE.test(path))) {
  const text = eraseTypes(readFileSync(path, 'utf8'), (node) => {
    throw new Error(`${path}: the types of ${node.getText()} cannot be erased`)
  })
  const inlined = text.replace(/\b(readAsset|readText)\(import\.meta\.url, '([^']+)'\)/g, (_call, kind, name) => {
    rmSync(join(DIST, relative(SOURCES, path), '..', name), { force: true })
    return JSON.stringify(READERS[kind](pathToFileURL(path), name))
  })
  const compiled = join(COMPILED, relative(SOURCES, path).replace(SOURCE, '.js'))
  mkdirSync(dirname(compiled), { recursive: true })
  writeFileSync(compiled, inlined)
}

const output = await bundle('.', KEPT, CHUNKS)
// The thread of the store loads no other chunk.
await bundle('store/sqlite', ['worker'])
await bundle('.', filesIn(COMPILED).filter(isSeparate).map((path) => relative(COMPILED, path).replace('.js', '')))
rmSync(COMPILED, { recursive: true })

writeFileSync(join(DIST, 'register.js'), "import preload from './register.cjs'\n\nawait preload.ready\n")
for (const { name, exports } of output.filter(({ isEntry, name }) => isEntry && ENTRIES.includes(name))) {
  const entry = join(DIST, name)
  const names = exports.filter((key) => key !== 'default')
  const values = `export const { ${names.join(', ')} } = entry\n`
  const plugin = exports.includes('default') ? 'export default entry\n' : ''
  writeFileSync(`${entry}.js`, `import entry from './${name}.cjs'\n\n${values}${plugin}`)
  if (existsSync(`${entry}.d.cts`)) continue
  // CommonJS can import only the types of an ES module: its values are declared one by one.
  const types = `'./${name}.js' with { 'resolution-mode': 'import' }`
  const loaded = createRequire(import.meta.url)(`${entry}.cjs`)
  const declared = names.map((key) =>
    `export declare const ${key}: typeof esm.${key}\n` +
    (/^class\b/.test(String(loaded[key])) ? `export type ${key} = esm.${key}\n` : ''))
  const head = [`import type * as esm from ${types}`, `export type * from ${types}`]
  writeFileSync(`${entry}.d.cts`, [...head, ...declared].join('\n'))
}
const [code] = await compiledTypes
if (code !== 0) throw new Error('The declarations cannot be made.')

async function bundle (folder, names, chunks = {}) {
  const { write } = await rollup({
    input: Object.fromEntries(names.map((name) => [name, join(COMPILED, folder, `${name}.js`)])),
    plugins: [commonJs(names)],
    treeshake: false,
    // Readers of files are unused where their texts are literals.
    onwarn: ({ code, message }) => { if (code !== 'UNUSED_EXTERNAL_IMPORT') throw new Error(message) }
  })
  const contents = {}
  const { output } = await write({
    dir: join(DIST, folder),
    format: 'cjs',
    exports: 'named',
    esModule: false,
    entryFileNames: '[name].cjs',
    chunkFileNames: 'chunks/[name]-[hash].cjs',
    manualChunks: (id, { getModuleInfo }) => Object.keys(chunks).find((name) => {
      contents[name] ??= imported(chunks[name].map((path) => join(COMPILED, path)), getModuleInfo)
      return contents[name].has(id)
    }),
    // `require` of the plugin gives a function, which has all exports.
    footer: ({ name }) => name === 'index' ? 'module.exports = Object.assign(exports.hindsight, exports)' : '',
    hoistTransitiveImports: false,
    minifyInternalExports: false
  })
  return output
}

/** What CommonJS has instead of the syntax of ES modules. */
function commonJs (names) {
  return {
    name: 'commonjs',
    resolveId (source, importer) {
      if (importer === undefined) return null
      if (!source.startsWith('.')) return { id: source, external: true }
      const path = join(importer, '..', source)
      const isKept = isSeparate(path) && !names.some((name) => join(COMPILED, `${name}.js`) === path)
      return isKept ? { id: path.replace(/js$/, 'cjs'), external: 'relative' } : null
    },
    // A bundle of ES modules has no `__filename`.
    resolveImportMeta: (property) => property === 'dirname'
      ? '__dirname'
      : "(typeof __filename === 'string' ? require('node:url').pathToFileURL(__filename).href : undefined)",
    // Jest imports nothing in CommonJS. An application needs only Fastify from here; the others are the commands'.
    renderDynamicImport: ({ targetModuleId }) => targetModuleId === 'fastify'
      ? { left: 'Promise.resolve().then(() => ({ default: require(', right: ') }))' }
      : null
  }
}

/** The modules and all that they import, directly or not. */
function imported (ids, getModuleInfo) {
  const found = new Set(ids)
  for (const id of found) {
    for (const other of getModuleInfo(id)?.importedIds ?? []) found.add(other)
  }
  return found
}

function isSeparate (path) {
  return SEPARATE.some((one) => relative(COMPILED, path).startsWith(one))
}

function filesIn (folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
}
