import t from 'tap'
import { build, eventOf, profileOf } from '../../packages/hindsight/test/support/app.js'

t.test('each request has a token, and the profile is found by it', async t => {
  const app = await build(t, {}, app => app.get('/:n', () => 'x'))
  const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => app.inject(`/${n}?n=${n}`)))
  const tokens = answers.map(({ headers }) => String(headers['x-debug-token']))
  for (const token of tokens) t.match(token, /^[0-9a-f]{6}$/)
  // In one of 3,000 runs two random tokens are equal.
  const once = tokens.filter((token, n) => tokens.every((other, i) => i === n || other !== token))
  t.ok(once.length >= 98, String(once.length))
  for (const [n, answer] of answers.entries()) {
    if (once.includes(tokens[n] ?? '')) t.equal((await profileOf(app, answer)).url, `http://localhost/${n}?n=${n}`)
  }
})

t.test('the profile has the facts of the request', async t => {
  const app = await build(t, {}, app => app.get('/', async () => { await new Promise(resolve => setTimeout(resolve, 20)); return 'x' }))
  const started = Date.now()
  const { version, time, duration, method, status, ip, exceptions, collectors } = await profileOf(app, await app.inject('/'))
  t.same([version, method, status, ip, exceptions], [1, 'GET', 200, '127.0.0.1', []])
  // It is rounded.
  t.ok(Date.parse(time) >= started - 1 && Date.parse(time) <= Date.now() + 1, `${time} is not after ${started}`)
  t.ok(duration >= 19, String(duration))
  const { handler } = collectors.performance as { handler: number }
  t.ok(handler >= 19 && duration >= handler, `${handler} of ${duration}`)
})

t.test('answers of the profiler and routes that opt out are not profiled', async t => {
  const app = await build(t, {}, app => {
    app.get('/quiet', { config: { profile: false } }, () => 'x')
    app.get('/quiet/boom', { config: { profile: false } }, () => { throw new Error('boom') })
    app.get('/_profilers', () => 'x')
  })
  for (const url of ['/quiet', '/quiet/boom', '/_profiler/', '/_profiler', '/_profiler/search']) {
    const response = await app.inject(url)
    t.equal(response.headers['x-debug-token'], undefined, url)
  }
  t.equal(await app.hindsight.profiler.latest(), undefined)
  t.match((await app.inject('/_profilers')).headers['x-debug-token'], /^[0-9a-f]{6}$/)
})

t.test('an unknown or malformed token is a 404', async t => {
  const app = await build(t)
  for (const token of ['latest', '000000', 'zzzzzz', 'abc', '..%2F..%2Fetc%2Fpasswd', 'ABCDEF', '%00']) {
    t.equal((await app.inject(`/_profiler/${token}`)).statusCode, 404, token)
  }
})

t.test('the number of stored profiles is bounded', async t => {
  const app = await build(t, { profiler: { maxProfiles: 5 } }, app => app.get('/:n', () => 'x'))
  const tokens: string[] = []
  for (let n = 0; n < 12; n++) tokens.push(String((await app.inject(`/${n}`)).headers['x-debug-token']))
  await app.hindsight.profiler.flush()
  const { profiles } = await app.hindsight.profiler.search({ limit: 100 })
  t.same(profiles.map(({ token }) => token), tokens.slice(-5).reverse())
})

t.test('outside debug mode there is no profiler', async t => {
  const app = await build(t, { debug: false }, app => app.get('/', () => 'x'))
  const { headers } = await app.inject('/')
  t.same(Object.keys(headers).filter(name => name.startsWith('x-debug')), [])
  t.equal((app.hindsight.hasProfiles), false)
  t.equal((await app.inject('/_profiler/')).statusCode, 404)
})

t.test('the profile of a failure has status 500 and the error pass', async t => {
  const app = await build(t, {}, app => app.get('/boom', () => { throw new Error('boom') }))
  const response = await app.inject('/boom')
  const profile = await profileOf(app, response)
  t.equal(profile.status, 500)
  t.match(eventOf(profile, 'kernel.response', 'profiler'), { outcome: 'ran', pass: 'error' })
  t.equal((await app.hindsight.profiler.latest({ error: true }))?.token, profile.token)
})
