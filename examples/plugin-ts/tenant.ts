import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyRequest {
    /** The tenant that the request is for. */
    tenant: string
    /** The orders that it has looked at. */
    looked: string[]
  }
}

/** A hook of the application: one plugin, one job, a name. It runs after the listeners of Hindsight, because it is registered after it. */
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
