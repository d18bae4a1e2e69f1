import Fastify from 'fastify'
import { service } from '../../../app/service.js'

// An application with the plugin only: it is not closed when its process ends.
const [dataDir = ''] = process.argv.slice(2)
const app = Fastify({ logger: true })
// It takes longer than the process lives.
const collect = async ({ url }: { url: string }): Promise<void> => {
  if (url === '/collected') await new Promise((resolve) => setTimeout(resolve, 5_000))
}
await app.register(service, { debug: true, profiler: { dataDir, collectors: [{ name: 'slow', collect }] }, session: false })
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

// These are answered before the process ends.
app.get('/answered', async (_request, reply) => {
  reply.raw.once('finish', () => { setTimeout(() => { throw new Error('thrown after the response') }, 100) })
  return 'answered'
})
app.get('/collected', async (_request, reply) => {
  reply.raw.once('finish', () => { setTimeout(endProcess, 20) })
  return 'collected'
})
app.get('/closing', async (_request, reply) => {
  reply.raw.once('finish', () => {
    app.close().catch(() => {})
    setTimeout(endProcess, 1)
  })
  return 'closing'
})

function endProcess (): never {
  process.exit(1)
}

await app.listen({ host: '127.0.0.1', port: 0 })
