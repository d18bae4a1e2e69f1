import { writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { findLibrary } from '../../../packages/hindsight/src/store/sqlite/availability.js'

// Holds the write lock of a store until it is killed, like a process that a debugger has stopped.
const [path = ''] = process.argv.slice(2)
const library = findLibrary() as '@photostructure/sqlite'
const { DatabaseSync } = createRequire(import.meta.url)(library) as typeof import('@photostructure/sqlite')
const database = new DatabaseSync(path)
database.exec('pragma busy_timeout = 5000; begin immediate')
writeSync(1, 'locked\n')
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
