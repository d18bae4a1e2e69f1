import { parseArgs } from 'node:util'
import { fuzz } from './fuzz.js'

// `npm run fuzz -- --messages 100000 --seed 7`: ends with 1, and the smallest connection that shows it, at a crash, a hang, a sound request
// without an answer, a server error that is none of the application, a refusal that explains nothing,
// anything ambiguous that is not refused, or a heap that grows.
const { values } = parseArgs(
  { options: { messages: { type: 'string', default: '100000' }, seed: { type: 'string', default: String(Date.now() & 0x7fffffff) } } }
)
const messages = Number(values.messages)
const seed = Number(values.seed)
console.log(`${messages} connections, seed ${seed}`)
const startedAt = Date.now()
const figures = await fuzz({ messages, seed, progress: (done) => console.log(`${done} done`) })
console.log(JSON.stringify({ seed, seconds: Math.round((Date.now() - startedAt) / 1000), ...figures }, null, 2))
