import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyRequest {
    /** For whom the request is. */
    tenant: string
    /** The orders that it has looked at. */
    looked: string[]
  }
}

/** A hook as one writes a listener: one plugin, one job, a name. It runs behind `kernel.request`, as it is registered behind Hindsight. */
export const tenant = fp(async function tenant (app: FastifyInstance) {
  app.decorateRequest('tenant', '')
  app.decorateRequest('looked')
  app.addHook('onRequest', async function readTenant (request, reply) {
    const [name = ''] = request.hostname.split('.')
    request.tenant = name
    request.looked = []
    reply.header('x-tenant', name)
  })
}, { name: 'tenant' })
