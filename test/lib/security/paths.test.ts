import t from 'tap'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { routerPaths } from '../../../lib/security/paths.js'

t.test('patterns match paths', async t => {
  const { matcher } = routerPaths(Fastify())
  const table: Array<[string | RegExp | undefined, string, boolean]> = [
    [undefined, '/x', true],
    ['/', '/', true],
    ['/', '/x', true],
    ['/admin', '/admin', true],
    ['/admin', '/admin/', true],
    ['/admin', '/admin/x', true],
    ['/admin', '/admins', false],
    ['/admin', '/Admin', false],
    ['/admin', '/x/admin', false],
    ['/admin/', '/admin', true],
    ['/admin/', '/admin/x', true],
    [/^\/a/g, '/a', true],
    [/^\/a$/, '/ab', false]
  ]
  for (const [pattern, path, expected] of table) {
    const matches = matcher(pattern)
    for (const time of ['once', 'twice']) t.equal(matches(path), expected, `${String(pattern)} ${path} ${time}`)
  }
})

t.test('the path of a request is the one that the router matched', async t => {
  const app: FastifyInstance = Fastify({ routerOptions: { useSemicolonDelimiter: true } as object })
  const paths = routerPaths(app)
  const echo = async (request: FastifyRequest) => paths.of(request)
  app.get('/static', echo).get('/p/:a', echo).get('/w/*', echo)
  for (const [url, path] of [
    ['/static?x=/p/1', '/static'],
    ['/st%61tic', '/static'],
    ['/p/a%20b', '/p/a b'],
    ['/p/%2ea', '/p/.a'],
    ['/p/a%2Fb', '/p/a%2Fb'],
    ['/p/%252e', '/p/%2e'],
    ['/p/x;y=1', '/p/x'],
    ['/w/a//b', '/w/a//b'],
    ['/p/%F0%9F%98%80', '/p/😀']
  ] as const) t.equal((await app.inject(url)).body, path, url)
})
