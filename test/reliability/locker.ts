import { writeSync } from 'node:fs'
import { open } from 'lmdb'

// Holds the lock for writing of a store until it is killed, as a process that a debugger has stopped.
const [path = ''] = process.argv.slice(2)
const root = open<string, string>({ path, noSubdir: true, encoding: 'string', maxDbs: 8, maxReaders: 254 })
root.transactionSync(() => {
  writeSync(1, 'locked\n')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
})
