import { pathToFileURL } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Prepare } from './observe.js'

// Runs in a process of its own, with --expose-gc: prints by how many bytes the heap grows while many applications are created,
// receive one request and are closed. The argument is a module whose default export prepares each application, or `bare`.
const WARM_UP = 5
const APPLICATIONS = 60
const PAUSE = 20

const [preparation = 'bare'] = process.argv.slice(2)
const prepare = preparation === 'bare' ? undefined : (await import(pathToFileURL(preparation).href) as { default: Prepare }).default

async function useOne (): Promise<void> {
  const app = Fastify({ pluginTimeout: 60_000 }) as unknown as FastifyInstance
  await prepare?.(app)
  app.addHook('onRequest', async () => {})
  app.get('/', { schema: { response: { 200: { type: 'object', properties: { hello: { type: 'string' } } } } } }, async () => ({ hello: 'world' }))
  await app.inject({ url: '/', headers: { accept: 'text/html' } })
  await app.close()
}

async function heapUsed (): Promise<number> {
  for (let round = 0; round < 3; round++) {
    await sleep(PAUSE)
    globalThis.gc?.()
  }
  return process.memoryUsage().heapUsed
}

for (let made = 0; made < WARM_UP; made++) await useOne()
const before = await heapUsed()
for (let made = 0; made < APPLICATIONS; made++) await useOne()
const growth = await heapUsed() - before
process.stdout.write(JSON.stringify(growth), () => { process.exit() })
