import t, { type Test } from 'tap'
import type { FastifyInstance } from 'fastify'
import { build, listen, profileOf, raw, type BuildOptions } from '../../packages/hindsight/test/support/app.js'

const links = [
  { rel: 'preload', href: '/app.css', attributes: { as: 'style' } },
  { rel: 'describedby', href: '/schema' }
]

async function start (t: Test, options: BuildOptions = {}): Promise<FastifyInstance> {
  const app = await build({
    ...options,
    declare (app) {
      app.get('/', { config: { links } }, async () => 'x')
      app.get('/added', { config: { links } }, async (request) => {
        request.addLink('next', '/?page=2')
        request.addLink('preload', '/app.css', { as: 'style' })
        return 'x'
      })
      app.get('/kept', { config: { links } }, async (_request, reply) => reply.header('link', '</own>; rel="author"').send('x'))
      app.get(
        '/several', async (request, reply) => { request.addLink('next', '/n'); return reply.header('link', ['</a>; rel="a"', '</b>; rel="b"']).send('x') }
      )
      app.get('/none', async () => 'x')
      app.get('/hostile', async (request) => { request.addLink('next', '/>; rel="evil"\r\nX-Evil: 1', { title: '"\r\nX-Evil: 1' }); return 'x' })
      app.get('/bad', async (request) => { request.addLink('a b"', '/'); return 'x' })
      app.get('/fail', { config: { links } }, async (request) => { request.addLink('next', '/n'); throw new Error('no') })
      return options.declare?.(app)
    }
  })
  t.teardown(() => app.close())
  return app
}

const OWN = '</app.css>; rel="preload"; as="style", </schema>; rel="describedby"'

t.test('links of the route and then added links are appended to the header', async t => {
  const app = await start(t)
  for (const [url, expected] of [
    ['/', OWN],
    ['/added', `${OWN}, </?page=2>; rel="next"`],
    ['/kept', `</own>; rel="author", ${OWN}`],
    ['/several', '</a>; rel="a", </b>; rel="b", </n>; rel="next"'],
    ['/none', undefined],
    ['/fail', undefined]
  ] as const) t.equal((await app.inject(url)).headers.link, expected, url)
})

t.test('a hostile value does not split the header', async t => {
  const port = await listen(await start(t))
  const response = await raw(port, 'GET /hostile HTTP/1.1\r\nHost: localhost\r\n\r\n')
  t.equal(response?.status, 200)
  t.equal(response?.headers.link, '</%3E;%20rel=%22evil%22%0D%0AX-Evil:%201>; rel="next"; title*=UTF-8\'\'%22%0D%0AX-Evil%3A%201')
  t.equal(response?.headers['x-evil'], undefined)
  t.equal((await raw(port, 'GET /bad HTTP/1.1\r\nHost: localhost\r\n\r\n'))?.status, 500)
})

t.test('the profile has the links', async t => {
  const app = await start(t)
  const profile = await profileOf(app, await app.inject('/added'))
  t.same(profile.collectors.links, {
    route: links, added: [{ rel: 'next', href: '/?page=2' }, { rel: 'preload', href: '/app.css', attributes: { as: 'style' } }]
  })
  for (const [url, reason] of [['/none', 'not configured'], ['/fail', 'the response is about an error']] as const) {
    t.match((await profileOf(app, await app.inject(url))).events.find(({ listener }) => listener === 'link-header'), { outcome: 'skipped', reason }, url)
  }
})

t.test('an invalid link stops the start with the name of the route', async t => {
  for (const [config, message] of [
    [{ name: 'home', links: [{ rel: 'a"b', href: '/' }] }, 'Route "home": links: Link: "a"b" is not a relation type (RFC 8288, section 3.3)'],
    [{ links: [{ rel: 'next' }] }, 'Route "GET /x": Option "config.links[0].href" is missing'],
    [{ links: { rel: 'next', href: '/' } }, 'Route "GET /x": Option "config.links" must be an array, not an object'],
    [
      { links: [{ rel: 'next', href: '/', attributes: { 'a b': '' } }] },
      'Route "GET /x": links: Link: "a b" is not the name of a target attribute (RFC 8288, section 3.4)'
    ]
  ] as const) await t.rejects(build({ declare: (app) => { app.get('/x', { config: config as never }, async () => '') } }), { message })
})
