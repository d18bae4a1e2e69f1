import { openEmbeddedStorage } from '../../../../plugins/profiler/storage/embedded.js'
import { profile, tokens } from '../../fixture.js'

// A process whose files must not grow beyond a limit: writes until that is felt, and some more.
const [path = ''] = process.argv.slice(2)
if (path === '') throw new Error('The path of a store is needed')
// The signal that comes at the limit would end the process; a full disk sends none.
process.on('SIGXFSZ', () => {})
const storage = await openEmbeddedStorage({ path })
let written = 0
let refused = 0
let message = ''
for (const token of tokens(1, 400)) {
  try {
    await storage.put([profile(token, { collectors: { text: 'x'.repeat(8_000) } })])
    written++
  } catch (error) {
    refused++
    message = String(error)
  }
}
const { profiles } = await storage.search({ limit: 1_000 })
await storage.close()
console.log(JSON.stringify({ written, refused, message, read: profiles.length }))
