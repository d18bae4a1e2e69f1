import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { addHooks } from '../hooks.js'
import type { Recorder } from '../recorder.js'

/** Parts of the application below prefixes, with hooks and handlers of their own. */
export async function declareParts (app: FastifyInstance, recorder: Recorder): Promise<void> {
  await app.register(async (part) => {
    addHooks(part, 'part', recorder)
    part.get('/', { onSend: async () => { recorder.note('onSend of the route') } }, async () => ({ part: true }))
    part.get('/fails', async () => { throw new Error('broken in a part') })
    await part.register(async (inner) => {
      addHooks(inner, 'inner', recorder)
      inner.get('/page', (_request, reply) => reply.type('text/html').send('<!doctype html><title>inner</title><body>inner</body>'))
    }, { prefix: '/inner' })
  }, { prefix: '/part' })

  const context = new AsyncLocalStorage<string>()
  await app.register(async (part) => {
    part.addHook('onRequest', function enterContext (request, _reply, done) { context.run(request.url, done) })
    part.addHook('onSend', async () => { recorder.note(`onSend in the context ${String(context.getStore())}`) })
    part.addHook('onResponse', async () => { recorder.note(`onResponse in the context ${String(context.getStore())}`) })
    part.get('/', async () => ({ context: context.getStore() ?? 'none' }))
    part.get('/fails', async () => { throw new Error(`broken in the context ${String(context.getStore())}`) })
  }, { prefix: '/context' })

  // What fastify-plugin hands to the root has its hooks there.
  await app.register(fp(async (shared) => {
    shared.decorateRequest('shared', 'of a shared plugin')
    shared.addHook('preHandler', async function sharedPreHandler () { recorder.note('preHandler of a shared plugin') })
  }, { name: 'shared' }))

  await app.register(async (part) => {
    part.setErrorHandler(async (error: Error, request, reply) => {
      recorder.noteOwn('the error handler of a part')
      if (request.url.endsWith('/html')) return await reply.code(500).type('text/html').send(`<!doctype html><title>${error.message}</title><body>own</body>`)
      reply.code(500)
      return { own: error.message }
    })
    part.setNotFoundHandler((request, reply) => {
      recorder.noteOwn('the not-found handler of a part')
      reply.code(404).type('text/html').send(`<!doctype html><title>none</title><body>Nothing at ${request.url}</body>`)
    })
    part.get('/fails', async () => { throw new Error('broken') })
    part.get('/fails/html', async () => { throw new Error('broken') })
    part.get('/calls-not-found', (_request, reply) => { reply.callNotFound() })
  }, { prefix: '/own' })

  const failing: Record<string, (error: Error) => unknown> = {
    'at-once': () => { throw new Error('The handler fails') },
    later: async () => { throw new Error('The handler fails later') },
    again: (error) => { throw error }
  }
  for (const [name, fail] of Object.entries(failing)) {
    await app.register(async (part) => {
      part.setErrorHandler((error: Error) => {
        recorder.noteFailure(`an error handler, ${name}`)
        return fail(error)
      })
      part.get('/', async () => { throw new Error('broken') })
    }, { prefix: `/failing-handler/${name}` })
  }

  for (const when of ['always', 'for-successes']) {
    await app.register(async (part) => {
      part.addHook('onSend', async (_request, reply) => {
        if (when === 'for-successes' && reply.statusCode >= 400) return
        recorder.noteFailure('onSend of a part')
        throw new Error('onSend of a part fails')
      })
      part.get('/', async () => 'x')
      part.get('/fails', async () => { throw new Error('broken') })
      part.get('/calls-not-found', (_request, reply) => { reply.callNotFound() })
    }, { prefix: `/failing-send/${when}` })
  }

  await app.register(async (part) => {
    part.addHook('onSend', async (request, reply, payload) => {
      if (reply.statusCode < 400) return payload
      return JSON.stringify({ ...JSON.parse(String(payload)) as object, path: request.url })
    })
    part.get('/', async () => ({}))
    part.get('/fails', async () => { throw new Error('broken') })
    part.get('/calls-not-found', (_request, reply) => { reply.callNotFound() })
  }, { prefix: '/error-field' })
}
