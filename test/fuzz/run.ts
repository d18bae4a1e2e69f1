import { parseArgs } from 'node:util'
import { fuzz } from './fuzz.js'

// `npm run fuzz -- --messages 100000 --seed 7`
const { values } = parseArgs({ options: { messages: { type: 'string', default: '100000' }, seed: { type: 'string', default: String(Date.now() & 0x7fffffff) } } })
const messages = Number(values.messages)
const seed = Number(values.seed)
console.log(`${messages} connections, seed ${seed}`)
const startedAt = Date.now()
const figures = await fuzz({ messages, seed, progress: (done) => console.log(`${done} done`) })
console.log(JSON.stringify({ seed, seconds: Math.round((Date.now() - startedAt) / 1000), ...figures }, null, 2))
