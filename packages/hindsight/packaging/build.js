// Builds the package in dist/: JavaScript, declarations, and the files beside the sources that are not compiled. Texts
// that modules read from files beside them become literals, so that bundlers include them. Modules that are loaded
// together are joined: a start of an application takes less CPU time with few files. Names and comments are kept.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
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
/** Files of their own: frames of the queries are recognized by their folder, and the package is found by `require.js`. */
const SEPARATE = ['clock.js', 'require.js', 'queries/']
/** Modules that keep their place: entries of the package, and what a file that is not compiled loads. */
const ENTRIES = [
  ...[
    'failed-start', 'index', 'nest', 'preload', 'queries', 'recorder', 'register', 'server-options', 'storage',
    'storage-contract'
  ].map((name) => `${name}.js`),
  'cli/run.js'
]
/** Chunks with all that these modules import and no earlier chunk has: what each start loads, and what recording loads. */
const CHUNKS = {
  hindsight: ['index.js'],
  observe: ['observe.js'],
  observer: ['observer.js', 'store/memory.js', 'store/sqlite.js', 'store/sqlite/availability.js']
}

rmSync(DIST, { recursive: true, force: true })
const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc')
execFileSync(process.execPath, [compiler, '-p', join(import.meta.dirname, 'tsconfig.json')], { stdio: 'inherit' })
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

await bundle('.', ENTRIES, CHUNKS)
// The thread of the store loads no other chunk.
await bundle('store/sqlite', ['worker.js'])
for (const path of filesIn(COMPILED).filter(isSeparate)) {
  mkdirSync(dirname(path.replace(COMPILED, DIST)), { recursive: true })
  renameSync(path, path.replace(COMPILED, DIST))
}
rmSync(COMPILED, { recursive: true })

// CommonJS can import only the types of an ES module: its values are declared one by one.
for (const name of ['queries', 'recorder', 'server-options', 'storage']) {
  const entry = join(DIST, name)
  const types = `'./${name}.js' with { 'resolution-mode': 'import' }`
  const values = Object.entries(await import(pathToFileURL(`${entry}.js`).href)).map(([key, value]) =>
    `export declare const ${key}: typeof esm.${key}\n` +
    (/^class\b/.test(String(value)) ? `export type ${key} = esm.${key}\n` : ''))
  const declared = [`import type * as esm from ${types}`, `export type * from ${types}`, ...values]
  writeFileSync(`${entry}.d.cts`, declared.join('\n'))
  writeFileSync(`${entry}.cjs`, `'use strict'\n\nmodule.exports = require('./${name}.js')\n`)
}

async function bundle (folder, entries, chunks = {}) {
  const { write } = await rollup({
    input: Object.fromEntries(entries.map((path) => [path.replace('.js', ''), join(COMPILED, folder, path)])),
    external: (id, _importer, isResolved) => isResolved ? isSeparate(id) : !/^[./]/.test(id),
    treeshake: false,
    // Readers of files are unused where their texts are literals.
    onwarn: ({ code, message }) => { if (code !== 'UNUSED_EXTERNAL_IMPORT') throw new Error(message) }
  })
  const contents = {}
  await write({
    dir: join(DIST, folder),
    chunkFileNames: 'chunks/[name]-[hash].js',
    manualChunks: (id, { getModuleInfo }) => Object.keys(chunks).find((name) => {
      contents[name] ??= imported(chunks[name].map((path) => join(COMPILED, path)), getModuleInfo)
      return contents[name].has(id)
    }),
    hoistTransitiveImports: false,
    minifyInternalExports: false
  })
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
