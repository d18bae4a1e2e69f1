import { createRequire, isBuiltin } from 'node:module'
import { Profiler } from '../../../src/store/profiler.js'
import { SqliteStorage } from '../../../src/store/sqlite.js'
import { recordOf } from '../../../src/store/summary.js'
import { profile } from '../../parts/fixture.js'

// A process that ends in one of several ways directly after a profile was saved.
const [path = '', way = ''] = process.argv.slice(2)
const storage = new SqliteStorage({ path, closeDelay: 60_000 })
const profiler = new Profiler({ storage })
process.prependListener('exit', () => {
  profiler.exit()
  profiler.settle(performance.now() + (way === 'locked' ? 500 : 60_000))
})
// The thread runs already, as it does in a service.
await storage.put([recordOf(profile('000001'))])
profiler.save(profile('000002'))
const ways: Record<string, () => unknown> = {
  close: async () => await profiler.close(),
  return: () => {},
  exit: () => process.exit(3),
  throw: () => { setImmediate(() => { throw new Error('of the application') }) },
  reject: () => { Promise.reject(new Error('of the application')) },
  locked: () => {
    // As another process that writes for long.
    const library = isBuiltin('node:sqlite') ? 'node:sqlite' : '@photostructure/sqlite'
    const { DatabaseSync } = createRequire(import.meta.url)(library) as typeof import('@photostructure/sqlite')
    new DatabaseSync(path).exec('begin immediate')
    process.exit(3)
  },
  clone: async () => await profiler.search({ limit: 1, criteria: { url: (() => {}) as unknown as string } }).catch(() => {})
}
await ways[way]?.()
