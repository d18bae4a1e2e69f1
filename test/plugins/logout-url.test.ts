import t from 'tap'
import { build, profileOf, users } from '../lib/security/support.js'

t.test('the URL is that of the matching firewall, also behind a trusted proxy', async t => {
  const app = await build(t, {
    providers: { people: users },
    firewalls: [
      { name: 'back', pattern: '/back', authenticators: { login: { loginPath: '/back/login' } }, logout: { path: '/back/logout', csrf: false } },
      { name: 'front', logout: { path: '/leave', csrf: false } }
    ]
  }, app => {
    app.get('/*', async request => [request.logoutPath(), request.logoutUrl()])
    app.get('/back/*', async request => [request.logoutPath(), request.logoutUrl()])
  }, { trustedProxies: ['loopback'] })
  const table: Array<[string, Record<string, string>, [string, string]]> = [
    ['/back/x', {}, ['/back/logout', 'http://shop.test/back/logout']],
    ['/x', {}, ['/leave', 'http://shop.test/leave']],
    ['/x', { 'x-forwarded-proto': 'https', 'x-forwarded-prefix': '/shop' }, ['/leave', 'https://shop.test/shop/leave']]
  ]
  for (const [url, headers, expected] of table) {
    t.same((await app.inject({ url, headers: { host: 'shop.test', ...headers } })).json(), expected, url)
  }
})

t.test('a token is created only if the request calls logoutPath()', async t => {
  const app = await build(t, { firewalls: [{ name: 'main', logout: true }] }, app => {
    app.get('/asks', async request => request.logoutPath() ?? '')
    app.get('/does-not', async () => 'x')
  })
  t.equal((await app.inject('/does-not')).headers['set-cookie'], undefined)
  const asked = await app.inject('/asks')
  t.match(asked.body, /^\/logout\?_csrf_token=[\w-]{20,}$/)
  t.match(asked.headers['set-cookie'], /^sessionId=/)
  t.equal(asked.headers['cache-control'], 'max-age=0, must-revalidate, private')
  t.notMatch(JSON.stringify(await profileOf(app, await app.inject(asked.body))), asked.body.split('=')[1] as string, 'the token is masked')
})
