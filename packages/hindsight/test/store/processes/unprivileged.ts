import { chmodSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { SqliteStorage } from '../../../src/store/sqlite.js'
import { checkWritable } from '../../../src/store/sqlite/availability.js'
import { recordOf } from '../../../src/store/summary.js'
import { profile } from '../../parts/fixture.js'

// A process of a user who may read a store, and cannot write to its files and its folder; prints the result of each call.
const [path = ''] = process.argv.slice(2)
if (path === '') throw new Error('The path of a store is needed')
// All code is loaded before.
const loading = new SqliteStorage({ path })
await loading.stats()
await loading.close()
for (const file of readdirSync(dirname(path))) chmodSync(join(dirname(path), file), 0o444)
chmodSync(dirname(path), 0o555)
if (process.getuid?.() === 0) {
  process.setgid?.(65_534)
  process.setuid?.(65_534)
}
const storage = new SqliteStorage({ path })
const calls: Record<string, () => unknown> = {
  check: () => checkWritable(path),
  put: () => storage.put([recordOf(profile('000002'))]),
  get: () => storage.get('000001'),
  search: () => storage.search({ limit: 1 })
}
const results: Record<string, string> = {}
for (const [name, call] of Object.entries(calls)) {
  try {
    await call()
    results[name] = 'done'
  } catch (error) {
    results[name] = `${(error as { code: string }).code} ${(error as Error).message}`
  }
}
console.log(JSON.stringify(results))
process.exit()
