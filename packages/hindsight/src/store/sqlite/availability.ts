import { accessSync, constants, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { attemptCall } from '../../call.js'
import { require } from '../../require.js'
import { StorageUnusableError } from '../storage.js'

/** The beginning of the name of a database without a file. */
export const IN_MEMORY = ':memory:'

/** The library of SQLite that can be loaded: Node's own (22.13 and later) or, for Node 20, the optional package. */
export function findLibrary (): string | undefined {
  if (isBuiltin('node:sqlite')) return 'node:sqlite'
  return attemptCall(() => require.resolve('@photostructure/sqlite')) && '@photostructure/sqlite'
}

/** Throws where the files cannot be written: at the start of a service, and before they are opened. */
export function checkWritable (path: string): void {
  try {
    const isNew = mkdirSync(dirname(path), { recursive: true, mode: 0o700 }) !== undefined
    // Profiles may have secrets that no mask recognizes: git must not add them.
    if (isNew) writeFileSync(join(dirname(path), '.gitignore'), '*\n')
    accessSync(dirname(path), constants.W_OK)
    for (const file of ['', '-lock', '-wal', '-shm'].map((suffix) => path + suffix)) checkFile(file, path)
  } catch (error) {
    throw new StorageUnusableError(path, (error as Error).message)
  }
}

function checkFile (file: string, path: string): void {
  try {
    accessSync(file, constants.R_OK | constants.W_OK)
    if (statSync(file).isFile()) return
  } catch (error) {
    // Another process that closes the database removes its log at any time.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  throw new Error(`${file === path ? 'it' : `"${file}"`} is not a file`)
}
