import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

/** A plugin that does nothing, awaited. */
export default async function prepare (app: FastifyInstance): Promise<void> {
  await app.register(fp(async () => {}))
}
