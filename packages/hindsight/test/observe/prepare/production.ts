import type { FastifyInstance } from 'fastify'
import { hindsight } from '../../../src/hindsight.js'

/** The plugin as it is with `NODE_ENV=production`. */
export default async function prepare (app: FastifyInstance): Promise<void> {
  await app.register(hindsight, { debug: false, profiler: { storage: 'memory' } })
}
