import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  app.decorate('failed', 0)
  const send = async () => { throw new Error('No server for mail') }
  app.post('/mail', async () => {
    send().then(() => {}, (error) => { if (error.code) app.failed++ })
    return { queued: true }
  })
  return app
}
