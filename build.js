// Builds the service in dist/: types become spaces, so that lines and columns stay; other files are copied.
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import eraseTypes from 'ts-blank-space'

const FOLDERS = ['app', 'lib', 'plugins', 'routes']
const SOURCE = /(?<!\.d)\.ts$/
const DIST = join(import.meta.dirname, 'dist')

rmSync(DIST, { recursive: true, force: true })
for (const folder of FOLDERS) {
  const from = join(import.meta.dirname, folder)
  cpSync(from, join(DIST, folder), { recursive: true, filter: (path) => !path.endsWith('.ts') })
  for (const file of readdirSync(from, { recursive: true }).filter((file) => SOURCE.test(file))) {
    const text = eraseTypes(readFileSync(join(from, file), 'utf8'), (node) => {
      throw new Error(`${join(folder, file)}: the types of ${node.getText()} cannot be erased`)
    })
    writeFileSync(join(DIST, folder, file.replace(SOURCE, '.js')), text)
  }
}
