import type { FastifyInstance } from 'fastify'

/** A plugin that changes what must stay the same; the comparison must find each change. */
export default function prepare (app: FastifyInstance): void {
  app.addHook('onRequest', async function intrude (request, reply) {
    reply.header('x-frame-options', 'DENY')
    if (request.url === '/text') request.log.info('an extra line')
    if (request.url === '/json') request.log.level = 'silent'
    if (request.url === '/callback') reply.code(405)
  })
  app.addHook('onRoute', (route) => {
    const { handler } = route
    route.handler = function wrapped (request, reply) { return handler.call(this, request, reply) }
  })
  app.addHook('onSend', async (request, reply, payload) => request.url === '/own/fails' ? 'replaced' : payload)
}
