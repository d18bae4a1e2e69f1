import { connect } from 'node:net'
import t, { type Test } from 'tap'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { build, listen, profileOf, raw, type BuildOptions } from '../support/app.js'

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
      app.get('/several', async (request, reply) => { request.addLink('next', '/n'); return reply.header('link', ['</a>; rel="a"', '</b>; rel="b"']).send('x') })
      app.get('/none', async () => 'x')
      app.get('/hostile', async (request) => { request.addLink('next', '/>; rel="evil"\r\nX-Evil: 1', { title: '"\r\nX-Evil: 1' }); return 'x' })
      app.get('/bad', async (request) => { request.addLink('a b"', '/'); return 'x' })
      app.get('/fail', { config: { links } }, async (request) => { request.addLink('next', '/n'); throw new Error('no') })
      app.get('/late', { config: { links: [...links, { rel: 'preconnect', href: 'https://cdn.test' }, { rel: 'modulepreload', href: '/app.js' }] } },
        async () => { await new Promise((resolve) => setTimeout(resolve, 30)); return 'late' })
      app.get('/mixed', { config: { links: [{ rel: 'preload', href: '/a.css', attributes: { as: 'style', media: '(min-width: 10px)' } }, { rel: 'preconnect', href: 'https://cdn.test' }] } }, async () => 'x')
      app.get('/odd', { config: { links: [{ rel: 'preload', href: '/a.css', attributes: { as: 'style', media: '(min-width: 10px)' } }] } }, async () => 'x')
      return options.declare?.(app)
    }
  })
  t.teardown(() => app.close())
  return app
}

const OWN = '</app.css>; rel="preload"; as="style", </schema>; rel="describedby"'

t.test('the links of the route, then those that were added, behind what is there', async t => {
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

t.test('a hostile value neither splits nor breaks the header', async t => {
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
    route: links, added: [{ rel: 'next', href: '/?page=2' }, { rel: 'preload', href: '/app.css', attributes: { as: 'style' } }], earlyHints: []
  })
  for (const [url, reason] of [['/none', 'not configured'], ['/fail', 'the response is about an error']] as const) {
    t.match((await profileOf(app, await app.inject(url))).events.find(({ listener }) => listener === 'link-header'), { outcome: 'skipped', reason }, url)
  }
})

t.test('a link that cannot be written stops the start with the route\'s name', async t => {
  for (const [config, message] of [
    [{ name: 'home', links: [{ rel: 'a"b', href: '/' }] }, 'Route "home": links: Link: "a"b" is not a relation type (RFC 8288, section 3.3)'],
    [{ links: [{ rel: 'next' }] }, 'Route "GET /x": config.links.0.href is missing: config.links.0 has to be { rel, href, attributes }'],
    [{ links: { rel: 'next', href: '/' } }, "Route \"GET /x\": config.links is { rel: 'next', href: '/' }; it has to be a list of { rel, href, attributes }"],
    [{ links: [{ rel: 'next', href: '/', attributes: { 'a b': '' } }] }, 'Route "GET /x": links: Link: "a b" is not the name of a target attribute (RFC 8288, section 3.4)']
  ] as const) await t.rejects(build({ declare: (app) => { app.get('/x', { config: config as never }, async () => '') } }), { message })
})

/** All that a server says to one request, interim responses too. */
function everything (port: number, request: string): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(request))
    socket.on('data', (chunk) => { text += chunk.toString('latin1') })
    socket.on('close', () => resolve(text))
  })
}

t.test('early hints go ahead of the answer, to those who can take them', async t => {
  const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </app.css>; rel="preload"; as="style", <https://cdn.test>; rel="preconnect", </app.js>; rel="modulepreload"\r\n\r\nHTTP/1.1 200 OK\r\n'
  for (const [name, earlyHints, request, early] of [
    ['HTTP/1.1', true, 'GET /late HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', true],
    ['off by default', undefined, 'GET /late HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', false],
    ['HTTP/1.0', true, 'GET /late HTTP/1.0\r\nHost: localhost\r\n\r\n', false],
    ['HEAD', true, 'HEAD /late HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', false],
    ['a form that Node.js does not send', true, 'GET /odd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', false],
    ['none declared', true, 'GET /none HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', false]
  ] as const) {
    const app = await start(t, earlyHints === undefined ? {} : { earlyHints })
    const answer = await everything(await listen(app), request)
    t.equal(answer.startsWith(early ? HINTS : 'HTTP/1.1 200 OK\r\n'), true, name)
    t.equal(answer.split(' 103 ').length, early ? 2 : 1, name)
    if (name !== 'none declared') t.match(answer.slice(answer.indexOf('200 OK')), /^link: </im, `${name}: the answer has them all the same`)
  }
  const app = await start(t, { earlyHints: true })
  t.match((await app.inject('/mixed')).headers.link, '</a.css>; rel="preload"; as="style"; media="(min-width: 10px)"')
  t.equal((await app.inject('/late')).body, 'late', 'an injected request has no connection for them')
  const port = await listen(app)
  t.equal(await (await fetch(`http://127.0.0.1:${port}/late`)).text(), 'late')
  const mixed = await everything(port, 'GET /mixed HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  t.ok(mixed.startsWith('HTTP/1.1 103 Early Hints\r\nLink: <https://cdn.test>; rel="preconnect"\r\n\r\nHTTP/1.1 200 OK'), 'those that can be sent are')
})

t.test('who is refused ahead of the handler is not hinted at what the page needs', async t => {
  const app = await start(t, {
    earlyHints: true,
    declare (app) {
      app.get('/paged', { config: { links, pagination: true } }, async () => 'x')
      const guard = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => request.headers['x-key'] === 'k' ? undefined : reply.code(401).send('who?')
      app.get('/guarded', { config: { links }, preHandler: guard }, async () => 'x')
      app.get('/guarded-twice', { config: { links, cache: { etag: () => 'abc' } }, preHandler: [async () => {}, guard] }, async () => 'x')
      app.register(async (scope) => {
        scope.addHook('preHandler', guard)
        scope.get('/scoped', { config: { links } }, async () => 'x')
      })
    }
  })
  const guardedPort = await listen(app)
  for (const url of ['/guarded', '/guarded-twice', '/scoped']) {
    const ask = (headers: string) => everything(guardedPort, `GET ${url} HTTP/1.1\r\nHost: localhost\r\n${headers}Connection: close\r\n\r\n`)
    t.match(await ask(''), /^HTTP\/1\.1 401 /, `${url}: refused`)
    t.match(await ask('X-Key: k\r\n'), /^HTTP\/1\.1 103 [^]*HTTP\/1\.1 200 /, `${url}: let through`)
  }
  t.match(await everything(guardedPort, 'GET /guarded-twice HTTP/1.1\r\nHost: localhost\r\nX-Key: k\r\nIf-None-Match: "abc"\r\nConnection: close\r\n\r\n'), /^HTTP\/1\.1 304 /)
  const answer = await everything(guardedPort, 'GET /paged?page=x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  t.match(answer, /^HTTP\/1\.1 400 /)
})
