import Fastify from 'fastify'
import { hindsight } from '../../../src/hindsight.js'

// An application whose first request ends the process while another one is under way.
const [dataDir = ''] = process.argv.slice(2)
const app = Fastify({ pluginTimeout: 60_000 })
await app.register(hindsight, { debug: true, profiler: { dataDir } })
let arrived = (): void => {}
const isPending = new Promise<void>((resolve) => { arrived = resolve })
app.get('/pending', async () => {
  arrived()
  await new Promise(() => {})
})
app.get('/crash', async () => {
  setTimeout(() => { throw new Error('thrown in a timer') }, 10)
  return 'answered'
})
const address = await app.listen({ port: 0, host: '127.0.0.1' })
fetch(`${address}/pending`).catch(() => {})
await isPending
fetch(`${address}/crash`).then(async (response) => await response.text()).catch(() => {})
