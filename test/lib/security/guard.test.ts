import fc from 'fast-check'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import t from 'tap'
import type { Test } from 'tap'
import type { ServiceOptions } from '../../../lib/options.js'
import { build, headerOf, listen, rawText as raw, statusOf } from '../../../packages/hindsight/test/support/app.js'
import { users } from './support.js'

const login = { csrf: false }
const security: NonNullable<ServiceOptions['security']> = {
  providers: { people: users },
  firewalls: [{ name: 'main', authenticators: { login }, logout: { csrf: false } }],
  accessControl: [{ path: '/in', roles: 'IS_AUTHENTICATED' }, { path: /^\/\/|\\|^\/[^/]*%/, roles: 'IS_AUTHENTICATED' }]
}

// Routes that take about anything: whatever a redirect is made of, it comes from the client.
function routes (app: FastifyInstance): void {
  app.get('/in/*', () => 'x').get('/with/:a/', () => 'x').get('/without/:a', () => 'x').get('/deep/*', () => 'x')
  app.get('/:a/:b', () => 'x').get('/:a/:b/:c', () => 'x').get('//*', () => 'x').get('/\\*', () => 'x')
  app.get('/login', () => 'x')
}

const EVIL = 'evil.example'
const TARGETS = [
  `//${EVIL}`, `//${EVIL}/`, `//${EVIL}/x`, `//${EVIL}/x/`, `///${EVIL}/`, `////${EVIL}/x/`, `/\\${EVIL}`, `/\\${EVIL}/`, `/\\/${EVIL}/x/`, `\\\\${EVIL}/`,
  `/\\\\${EVIL}/x/`,
  `/%2f${EVIL}/`, `/%2F%2F${EVIL}/`, `/%2f%2f${EVIL}/x/`, `/%5c${EVIL}/`, `/%5C%5C${EVIL}/x/`, `/%252f%252f${EVIL}/`, `/%09/${EVIL}/`, `/%0d/${EVIL}/`,
  `/%0a/${EVIL}/x/`, `/%00/${EVIL}/`,
  `/.//${EVIL}/`, `/..//${EVIL}/`, `/x/..//${EVIL}/`, `/%2e%2e//${EVIL}/`, `/.%2f/${EVIL}/`, `/;/${EVIL}/`, `/;//${EVIL}/x/`, `/@${EVIL}/`, `/@${EVIL}/x/`,
  `/x@${EVIL}/y/`, `/:80@${EVIL}/x/`,
  `http://${EVIL}/`, `http://${EVIL}/a/b/`, `http:${EVIL}/a/`, `http:///${EVIL}/a/`, `https://${EVIL}/in/x`, `javascript://${EVIL}/%0aalert(1)/`,
  'javascript:alert(1)', 'data:text/html,x/y/',
  `/in//${EVIL}`, `/in/\\${EVIL}`, `/in/%0d%0aLocation:%20http://${EVIL}/`, '/in/%e2%80%ae', `/in/?next=//${EVIL}`, `/in/x#//${EVIL}`, '/in/\u00a0',
  '/in/\u0085x',
  `/with//${EVIL}`, `/with/${EVIL}`, `/without/${EVIL}/`, `/without//${EVIL}/`, `/without/x/?a=//${EVIL}`, `/without/%2f%2f${EVIL}/`, `/deep//${EVIL}/`,
  `/nix//${EVIL}/`
]
const STATES: Array<[name: string, headers: string]> = [
  ['its own host', 'Host: localhost\r\n'],
  ['a host with a port', 'Host: localhost:8080\r\n'],
  ['a host in capitals', 'Host: LOCALHOST\r\n'],
  ['an empty host', 'Host:\r\n'],
  [
    'what proxies say, from nobody',
    `Host: localhost\r\nX-Forwarded-Host: ${EVIL}\r\nX-Forwarded-Proto: javascript\r\nX-Forwarded-Prefix: //${EVIL}\r\nForwarded: ` +
      `host=${EVIL}\r\nX-Original-URL: //${EVIL}/\r\nX-Rewrite-URL: //${EVIL}/\r\nReferer: http://${EVIL}/\r\nOrigin: http://localhost\r\n`
  ]
]

/** The origin that a browser is at which asked for a target, as RFC 9112, section 3.3 has it. */
function originOf (port: number, target: string, headers: string): string {
  const absolute = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]+)/i.exec(target)?.[1]
  const host = absolute ?? /^Host: ?(.+)\r\n/.exec(headers)?.[1] ?? `127.0.0.1:${port}`
  return new URL(`http://${host.toLowerCase()}/`).origin
}

// A browser takes backslashes for slashes and leaves out tabs and line ends (URL Standard, section 4.4): so does URL.
function stays (t: Test, answer: string, origin: string, what: string): boolean {
  const location = headerOf(answer, 'location')
  if (location === undefined) return false
  const to = new URL(location, `${origin}/a/b`)
  if (to.origin !== origin || /[^\x21-\x7e]/.test(location)) t.fail(`${what} leads to ${JSON.stringify(location)}, outside of ${origin}`)
  return true
}

const ask = (port: number, target: string, headers: string): Promise<string> =>
  raw(port, `GET ${target} HTTP/1.1\r\n${headers}Accept: text/html\r\nConnection: close\r\n\r\n`)

/** Asks for a target, goes through the login, and says how many redirects there were. */
async function follow (t: Test, port: number, target: string, headers: string, what: string): Promise<number> {
  const origin = originOf(port, target, headers)
  const first = await ask(port, target, headers)
  if (statusOf(first) >= 500) t.fail(`${what}: ${statusOf(first)}`)
  let count = Number(stays(t, first, origin, what))
  const cookie = headerOf(first, 'set-cookie')?.split(';', 1)[0]
  if (cookie === undefined) return count
  const form = new URLSearchParams({ _username: 'ada', _password: 'lovelace', _target_path: `//${EVIL}`, next: `//${EVIL}` }).toString()
  const own = /^Host:[^\r]*\r\n/.exec(headers)?.[0] ?? ''
  const second = await raw(
    port,
    `POST /login?_target_path=//${EVIL} HTTP/1.1\r\n${own}Accept: text/html\r\nCookie: ${cookie}\r\nContent-Type: ` +
      `application/x-www-form-urlencoded\r\nContent-Length: ${form.length}\r\nConnection: close\r\n\r\n${form}`
  )
  if (statusOf(second) !== 302) t.fail(`${what}: the login is ${statusOf(second)}`)
  count += Number(stays(t, second, originOf(port, '/login', own), `${what}, behind the login`))
  return count
}

const LAX = { routerOptions: { caseSensitive: false, ignoreDuplicateSlashes: true, useSemicolonDelimiter: true } } as FastifyServerOptions

t.test('for any target, a redirect stays on the origin of the request', async t => {
  for (const [router, server] of [['strict', {}], ['lax', LAX]] as const) {
    const app = await build(t, { security, profiler: false }, routes, server)
    const port = await listen(app)
    let redirects = 0
    for (const [state, headers] of STATES) {
      for (const target of TARGETS) redirects += await follow(t, port, target, headers, `${router}: ${target} with ${state}`)
    }
    t.ok(redirects > 80, `${router}: ${redirects} redirects, all of them at home`)
    await app.close()
  }
})

t.test('for random targets, a redirect stays on the origin of the request', async t => {
  const app = await build(t, { security, profiler: false }, routes)
  const port = await listen(app)
  const part = fc.oneof(fc.constantFrom(
    '/', '//', '\\', '%2f', '%5c', '%09', '%0d%0a', '%00', '.', '..', '@', ':', ';', '?', '#', EVIL, 'in', 'with', 'without', 'x', '%e2%80%ae', '\u0085',
    'http:', '[', ']'
  ), fc.stringMatching(/^[!-~]{1,4}$/))
  const target = fc.array(part, { minLength: 1, maxLength: 8 }).map(parts => `/${parts.join('')}`)
  let redirects = 0
  await fc.assert(
    fc.asyncProperty(target, async target => { redirects += await follow(t, port, target, 'Host: localhost\r\n', target) }), { numRuns: 400, seed: 7 }
  )
  t.ok(redirects > 40, `${redirects} redirects`)
})

t.test('behind a trusted proxy, a redirect goes to the forwarded origin', async t => {
  const app = await build(t, { security, trustedProxies: ['127.0.0.1'] }, routes)
  const port = await listen(app)
  for (const [prefix, expected] of [
    ['/app', 'https://shop.example/app/login'], [`//${EVIL}`, 'https://shop.example/login'], [`/\\${EVIL}`, 'https://shop.example/login'],
    ['/a\tb', 'https://shop.example/login'], [`http://${EVIL}`, 'https://shop.example/login']
  ] as const) {
    const answer = await ask(
      port, '/in/x', `Host: localhost\r\nX-Forwarded-Host: shop.example\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Prefix: ${prefix}\r\n`
    )
    t.equal(headerOf(answer, 'location'), expected, prefix)
  }
  for (const host of [`${EVIL}/`, `${EVIL}\\`, `user@${EVIL}`, `${EVIL}#`, `${EVIL}?`, `a b.${EVIL}`, `shop.example:x@${EVIL}`]) {
    t.equal(statusOf(await ask(port, '/in/x', `Host: localhost\r\nX-Forwarded-Host: ${host}\r\n`)), 400, host)
  }
})

t.test('with trusted hosts, a request for another host is refused without a redirect', async t => {
  const app = await build(t, { security, trustedHosts: ['localhost'] }, routes)
  const port = await listen(app)
  for (const target of ['/in/x', '/without/x/', '/logout', `http://${EVIL}/in/x`]) {
    const answer = await ask(port, target, `Host: ${EVIL}\r\n`)
    t.same([statusOf(answer), headerOf(answer, 'location')], [400, undefined], target)
  }
  t.equal(headerOf(await ask(port, '/logout', 'Host: localhost\r\n'), 'location'), 'http://localhost/')
})

t.test('a configured target on another origin stops the start', async t => {
  for (const path of [
    `//${EVIL}`, `/\\${EVIL}`, `\\${EVIL}`, `http://${EVIL}/`, `/x//${EVIL}`, `/\t/${EVIL}`, '/x\r\nLocation: y', EVIL, '', `/\n/${EVIL}`, `/\u2028//${EVIL}`
  ]) {
    for (const firewall of [
      { authenticators: { login: { loginPath: path } } },
      { authenticators: { login: { defaultTargetPath: path } } },
      { logout: { target: path } },
      { logout: { path } }
    ]) {
      await t.rejects(
        build(t, { security: { ...security, firewalls: [{ name: 'main', ...firewall }] } }),
        { message: /a path of this application, which starts with one "\/" and has no "\/\/", backslash or control character/ },
        encodeURI(JSON.stringify(firewall))
      )
    }
  }
})
