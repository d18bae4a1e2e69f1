import { SqliteStorage } from '../../../src/store/sqlite.js'
import { recordOf } from '../../../src/store/summary.js'
import { failure, profile } from '../../parts/fixture.js'

// A process that writes batches to a store, and prints the number of each after it is written.
const [path = '', prefix = '0', batches = 'Infinity'] = process.argv.slice(2)
if (path === '') throw new Error('The path of a store is needed')
const PER_BATCH = 20

const storage = new SqliteStorage({ path, maxProfiles: 5_000, maxBytes: 2 ** 26, warn: (message) => console.log(`warning: ${message}`) })
console.log('started')
for (let batch = 0; batch < Number(batches); batch++) {
  await storage.put(Array.from({ length: PER_BATCH }, (_, i) => {
    const token = prefix + (batch * PER_BATCH + i).toString(16).padStart(5, '0').slice(-5)
    const changes = { url: `http://h/${prefix}/${batch}`, collectors: { batch, text: 'x'.repeat(i * 200) } }
    return recordOf(i === 7 ? failure(token, changes) : profile(token, changes))
  }))
  console.log(batch)
}
await storage.close()
