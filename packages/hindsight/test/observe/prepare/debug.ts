import type { FastifyInstance } from 'fastify'
import { hindsight } from '../../../src/hindsight.js'

/** The plugin as the README says: registered first. */
export default async function prepare (app: FastifyInstance): Promise<void> {
  await app.register(hindsight, { debug: true, profiler: { storage: 'memory' } })
}
