// Builds the package in dist/: JavaScript, declarations, and the files beside the sources that are not compiled. Types
// are erased in place, so each line of dist/ is that of the source, and stack traces need no source maps. Texts that
// modules read from files beside them become literals, so that bundlers include them.
import { execFileSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import eraseTypes from 'ts-blank-space'
import { readText } from '../lib/require.js'
import { readAsset } from '../lib/view/asset.js'

const ROOT = join(import.meta.dirname, '..')
const DIST = join(ROOT, 'dist')
const FOLDERS = ['app', 'cli', 'lib', 'plugins', 'routes', 'test/contract']
const READERS = { readAsset, readText }
/** It needs fastify-cli, which is not installed with the package. */
const DEVELOPMENT = join(ROOT, 'app/dev.ts')
const SOURCE = /(?<!\.d)\.ts$/

rmSync(DIST, { recursive: true, force: true })
const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc')
execFileSync(process.execPath, [compiler, '-p', join(import.meta.dirname, 'tsconfig.json')], { stdio: 'inherit' })
for (const folder of FOLDERS) {
  cpSync(join(ROOT, folder), join(DIST, folder), { recursive: true, filter: (path) => !SOURCE.test(path) })
  for (const path of filesIn(join(ROOT, folder)).filter((path) => SOURCE.test(path) && path !== DEVELOPMENT)) {
    const text = eraseTypes(readFileSync(path, 'utf8'), (node) => {
      throw new Error(`${path}: the types of ${node.getText()} cannot be erased`)
    })
    const inlined = text.replace(/\b(readAsset|readText)\(import\.meta\.url, '([^']+)'\)/g, (_call, kind, name) => {
      rmSync(join(DIST, relative(ROOT, path), '..', name), { force: true })
      return JSON.stringify(READERS[kind](pathToFileURL(path), name))
    })
    writeFileSync(join(DIST, relative(ROOT, path).replace(SOURCE, '.js')), inlined)
  }
}

// CommonJS can import only the types of an ES module: its values are declared one by one.
for (const name of ['nest', 'queries', 'server-options', 'storage']) {
  const entry = join(DIST, 'app', name)
  const types = `'./${name}.js' with { 'resolution-mode': 'import' }`
  const values = Object.entries(await import(pathToFileURL(`${entry}.js`).href)).map(([key, value]) =>
    `export declare const ${key}: typeof esm.${key}\n` +
    (/^class\b/.test(String(value)) ? `export type ${key} = esm.${key}\n` : ''))
  const declared = [`import type * as esm from ${types}`, `export type * from ${types}`, ...values]
  writeFileSync(`${entry}.d.cts`, declared.join('\n'))
  writeFileSync(`${entry}.cjs`, `'use strict'\n\nmodule.exports = require('./${name}.js')\n`)
}

function filesIn (folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
}
