import type { FastifyInstance, FastifyRequest } from 'fastify'

/** The routes of the recorded application that the replayed cases touch. */
export function declareRoutes (app: FastifyInstance): void {
  app.get('/', async (_request, reply) => reply.type('text/html').send('<!DOCTYPE html><html><head><title>Demo home</title></head><body><h1>Demo home</h1></body></html>'))
  app.get('/articles', async () => [])
  app.post('/articles', async () => ({ created: true }))
  app.get('/articles/:id(^\\d+$)', async ({ params }) => params)
  // The recorded answers of these two were made with a session.
  const change = async ({ session, params }: FastifyRequest): Promise<unknown> => ({ ...params as object, session: Object.keys(session).length })
  app.put('/articles/:id(^\\d+$)', change)
  app.delete('/articles/:id(^\\d+$)', change)
}
