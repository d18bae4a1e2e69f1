import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { hindsight } from '../../../src/hindsight.js'
import { listen, profileOf } from '../../support/app.js'
import { METHODS, profilerRoutes, send } from '../../support/profiler-routes.js'

t.test('in an observed application, no method of a route of the profiler leaves a line, takes a request id or runs a hook', async (t) => {
  const lines: string[] = []
  const ran: string[] = []
  const app = Fastify({ logger: { stream: { write: (line) => { lines.push(line) } } }, pluginTimeout: 60_000 }) as unknown as FastifyInstance
  t.teardown(() => app.close())
  app.addHook('onRequest', async function guard ({ id, url }, reply) {
    ran.push(`${id} ${url}`)
    if (url !== '/') return await reply.code(401).send({ error: 'A key is required.' })
  })
  await app.register(hindsight, { debug: true, profiler: { storage: 'memory' } })
  app.get('/', async () => 'x')
  const port = await listen(app)
  const { token } = await profileOf(app, await send(port, 'GET', '/'))
  const started = lines.length
  const own = await profilerRoutes(token)
  for (const path of ['/_profiler/nix/nix/nix', '/_wdt/nix/nix', '/_error/200']) own.set(path, [])
  for (const [path, allowed] of own) {
    for (const method of METHODS) {
      const { status, headers } = await send(port, method, path)
      if (!allowed.includes(method) && !(method === 'HEAD' && allowed.includes('GET'))) t.equal(status, 404, `${method} ${path}`)
      else t.not(status, 401, `${method} ${path}`)
      t.same([headers['x-debug-token'], headers['x-content-type-options']], [undefined, 'nosniff'], `${method} ${path}`)
    }
  }
  t.same(ran, ['req-1 /'])
  t.equal(lines.length, started)
  await app.hindsight.profiler.flush()
  t.same((await app.hindsight.profiler.search({ limit: 10 })).profiles.map((profile) => profile.token), [token])
  t.equal((await send(port, 'GET', '/nowhere')).status, 401)
  t.same(ran, ['req-1 /', 'req-2 /nowhere'])
})
