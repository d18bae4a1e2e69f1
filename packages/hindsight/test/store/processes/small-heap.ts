import Fastify from 'fastify'
import { hindsight } from '../../../src/hindsight.js'

// An application with a small heap that stores thousands of profiles in memory; prints how many are stored.
const COUNT = 4_000
const app = Fastify({ pluginTimeout: 60_000 })
await app.register(hindsight, { debug: true, profiler: { storage: 'memory' } })
app.get('/', async (request) => {
  request.log.info({ text: 'x'.repeat(10_000) }, 'a long line')
  return { text: 'x'.repeat(10_000) }
})
const address = await app.listen({ port: 0, host: '127.0.0.1' })
// Over the network: a loop of injected requests does not leave the turn of the event loop.
for (let i = 0; i < COUNT; i++) await (await fetch(address)).text()
const { engine, profiles } = await app.hindsight.profiler.stats()
console.log(JSON.stringify({ engine, profiles, heap: Math.round(process.memoryUsage().heapUsed / 1e6) }))
await app.close()
