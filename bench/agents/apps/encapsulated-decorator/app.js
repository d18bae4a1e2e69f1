import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  app.register(async function database (scope) {
    scope.decorate('db', { users: () => ['ada'] })
  })
  app.register(async function routes (scope) {
    scope.get('/users', async () => scope.db.users())
  })
  return app
}
