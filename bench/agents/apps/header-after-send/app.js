import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  app.get('/file', (request, reply) => {
    reply.send('content')
    reply.header('x-version', '1')
  })
  app.addHook('onSend', (request, reply, payload, done) => { setImmediate(done, null, payload) })
  app.addHook('onSend', (request, reply, payload, done) => {
    reply.removeHeader('x-version')
    done(null, payload)
  })
  return app
}
