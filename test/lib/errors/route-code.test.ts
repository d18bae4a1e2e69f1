import Fastify from 'fastify'
import t from 'tap'
import ts from 'typescript'
import { pluginOf, routeCode, type RouteCode } from '../../../lib/errors/hints.js'

t.test('the suggested route has the method and the parameters of the path', async (t) => {
  t.same(routeCode('GET', '/orders/1042', true), {
    file: 'orders',
    code: `app.get<{ Params: { id: string } }>('/orders/:id', async (request, reply) => {
  const { id } = request.params
  return { id }
})
`
  })
  t.equal(routeCode('PROPFIND', '/', false), null, 'a method without a function of the instance')
  const health = routeCode('POST', '/health', false) as RouteCode
  t.equal(pluginOf(health, false), `export default async function routes (app) {
  app.post('/health', async (request, reply) => {
    return { hello: 'world' }
  })
}
`)
  t.match(pluginOf(health, true), /^import type \{ FastifyInstance \} from 'fastify'\n\nexport default async function routes \(app: FastifyInstance\) \{$/m)
})

t.test('for any path the generated source is a matching route, or null', async (t) => {
  const cases: Array<[path: string, pattern: string | null]> = [
    ['/', '/'],
    ['/users/7/posts/9', '/users/:id/posts/:postId'],
    ['/7/8/9', '/:id/:id2/:id3'],
    ['/files/550e8400-e29b-41d4-a716-446655440000/', '/files/:id/'],
    ['/caf%C3%A9', '/café'],
    ["/it's", null],
    ["/'+process.exit()+'", null],
    ['/a:b', '/a::b'],
    ['/a%20b', '/a b'],
    ['/`$%7B1%7D`', '/`${' + '1}`'],
    ['/%5Cu0027', null],
    ['/%0A%E2%80%A8%E2%80%AE', null],
    ['/</script>', '/</script>'],
    ['/%', null],
    [`/${'x'.repeat(300)}`, null]
  ]
  for (const [path, pattern] of cases) {
    const [written, typed] = [false, true].map((typescript) => routeCode('GET', path, typescript))
    if (!written || !typed) {
      t.equal(pattern, null, path)
      continue
    }
    const code = pluginOf(written, false)
    t.match(written.file, /^[a-z][\w-]*$/, `a name for the file of ${path}`)
    t.notMatch(code, /[\u2028\u202e]/, 'no invisible character')
    const declared: string[] = []
    const app = Fastify()
    app.addHook('onRoute', ({ url, method }) => { if (method === 'GET') declared.push(url) })
    const { default: routes } = await import(`data:text/javascript,${encodeURIComponent(code)}`) as { default: Parameters<typeof app.register>[0] }
    await app.register(routes)
    t.same(declared, [pattern], path)
    t.equal((await app.inject(path)).statusCode, 200, `${path} is answered`)
    await app.close()
    const { diagnostics = [] } = ts.transpileModule(pluginOf(typed, true), { reportDiagnostics: true })
    t.same(diagnostics, [], 'the same holds for TypeScript')
  }
})
