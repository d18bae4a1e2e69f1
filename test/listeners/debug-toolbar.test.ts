import t from 'tap'
import { build, eventOf, newest, profileOf } from '../app/harness.js'

t.test('the link to the profile is absolute', async t => {
  const app = await build(t, { trustedProxies: ['10.0.0.1'] }, app => app.get('/', () => 'x'))
  for (const [name, request, expected] of [
    ['plain', { url: '/' }, 'http://localhost/_profiler/'],
    ['host', { url: '/', headers: { host: 'a.test:8080' } }, 'http://a.test:8080/_profiler/'],
    ['proxy', { url: '/', remoteAddress: '10.0.0.1', headers: { 'x-forwarded-host': 'outer.test', 'x-forwarded-proto': 'https', 'x-forwarded-prefix': '/app' } }, 'https://outer.test/app/_profiler/'],
    ['a failure', { url: '/nix' }, 'http://localhost/_profiler/']
  ] as const) {
    const { headers } = await app.inject(request)
    t.equal(headers['x-debug-token-link'], `${expected}${String(headers['x-debug-token'])}`, name)
    t.equal((await app.inject(new URL(String(headers['x-debug-token-link'])).pathname.replace(/^\/app/, ''))).statusCode, 200, name)
  }
})

t.test('there is none where there is no profile', async t => {
  const app = await build(t, {}, app => app.get('/', { config: { profile: false } }, () => 'x'))
  t.equal((await app.inject('/')).headers['x-debug-token-link'], undefined)
  t.equal((await app.inject('/_profiler/')).headers['x-debug-token-link'], undefined)
})

t.test('its event says so', async t => {
  const app = await build(t, {}, app => app.get('/', () => 'x'))
  t.match(eventOf(await profileOf(app, await app.inject('/')), 'kernel.response', 'debug-toolbar'), { outcome: 'ran', changes: { headers: [{ name: 'x-debug-token-link', from: null }] } })
  await app.inject({ url: '/', remoteAddress: '127.0.0.1' })
  t.equal((await newest(app)).status, 200)
})
