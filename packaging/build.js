// Builds the package in dist/: JavaScript, declarations, and the files beside the sources that are not compiled. Types
// are erased in place, so each line and column of dist/ is that of the source, and stack traces need no source maps.
import { execFileSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, relative } from 'node:path'
import eraseTypes from 'ts-blank-space'

const ROOT = join(import.meta.dirname, '..')
const DIST = join(ROOT, 'dist')
const FOLDERS = ['app', 'cli', 'lib', 'plugins', 'routes', 'test/contract']
const SOURCE = /(?<!\.d)\.ts$/

rmSync(DIST, { recursive: true, force: true })
const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc')
execFileSync(process.execPath, [compiler, '-p', join(import.meta.dirname, 'tsconfig.json')], { stdio: 'inherit' })
for (const folder of FOLDERS) {
  cpSync(join(ROOT, folder), join(DIST, folder), { recursive: true, filter: (path) => !SOURCE.test(path) })
  for (const path of filesIn(join(ROOT, folder)).filter((path) => SOURCE.test(path))) {
    const text = eraseTypes(readFileSync(path, 'utf8'), (node) => {
      throw new Error(`${path}: the types of ${node.getText()} cannot be erased`)
    })
    writeFileSync(join(DIST, relative(ROOT, path).replace(SOURCE, '.js')), text)
  }
}

function filesIn (folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
}
