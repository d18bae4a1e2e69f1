import Fastify, { type FastifyInstance } from 'fastify'
import application, { options } from '../../../app/app.js'

// Starts an application as a user who may not write to the folder of its store; all code is loaded before.
const [dataDir = ''] = process.argv.slice(2)
const app = Fastify({ ...options, logger: false, pluginTimeout: 60_000 }) as unknown as FastifyInstance
await import('../../../packages/hindsight/src/store/sqlite.js')
await import('../../../packages/hindsight/src/store/sqlite/database.js')
if (process.getuid?.() === 0) {
  process.setgid?.(65_534)
  process.setuid?.(65_534)
}
try {
  await app.register(application, { service: { debug: true, session: { secret: 'x'.repeat(32) }, profiler: { dataDir } }, routesDir: dataDir })
  console.log('it started')
} catch (error) {
  console.log((error as Error).message)
}
await app.close()
