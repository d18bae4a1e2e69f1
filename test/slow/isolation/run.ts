import { parseArgs } from 'node:util'
import { isolate } from './isolation.js'

// `node --import=tsx test/slow/isolation/run.ts --requests 10000 --seed 7`; ends with 1 at the first request that has anything of another.
const { values } = parseArgs(
  { options: { requests: { type: 'string', default: '10000' }, seed: { type: 'string', default: String(Date.now() & 0x7fffffff) } } }
)
const [requests, seed] = [Number(values.requests), Number(values.seed)]
console.log(`${requests} requests, seed ${seed}`)
console.log(JSON.stringify({ seed, ...await isolate({ requests, seed }) }, null, 2))
