import Fastify from 'fastify'
import { hindsight } from '../../app/index.js'

// An application with the plugin and nothing else of ours: nobody closes it when its process ends.
const [dataDir = ''] = process.argv.slice(2)
const app = Fastify({ logger: true })
await app.register(hindsight, { debug: true, profiler: { dataDir }, session: false })
app.get('/fine', async () => 'fine')
app.get('/exit', () => endProcess())
app.get('/later', async () => {
  await new Promise((resolve) => setTimeout(resolve, 20))
  endProcess()
})
app.get('/timer', () => new Promise(() => {
  setTimeout(() => { throw new Error('thrown in a timer') }, 20)
}))
app.get('/rejection', () => new Promise(() => {
  setTimeout(() => Promise.reject(new Error('rejected in a timer')), 20)
}))

function endProcess (): never {
  process.exit(1)
}

await app.listen({ host: '127.0.0.1', port: 0 })
