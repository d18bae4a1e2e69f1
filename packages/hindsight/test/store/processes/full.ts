import { SqliteStorage } from '../../../src/store/sqlite.js'
import { recordOf } from '../../../src/store/summary.js'
import { profile, tokens } from '../../parts/fixture.js'

// A process whose files cannot grow above a limit: writes until puts are rejected, and some more.
const [path = ''] = process.argv.slice(2)
if (path === '') throw new Error('The path of a store is needed')
// The signal at the limit would end the process; a full disk sends none.
process.on('SIGXFSZ', () => {})
const warnings: string[] = []
const storage = new SqliteStorage({ path, warn: (message) => warnings.push(message) })
const messages = new Set<string>()
const written: string[] = []
for (const token of tokens(1, 400)) {
  try {
    await storage.put([recordOf(profile(token, { collectors: { text: 'x'.repeat(8_000) } }))])
    written.push(token)
  } catch (error) {
    messages.add(String(error))
  }
}
const { profiles } = await storage.search({ limit: 1_000 })
const read = (await Promise.all(written.map(async (token) => await storage.get(token)))).filter((found) => found !== undefined)
await storage.close()
console.log(JSON.stringify({ written: written.length, messages: [...messages], listed: profiles.length, read: read.length, warnings }))
