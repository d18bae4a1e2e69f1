import t from 'tap'
import { isNoise, type Profile } from '../../src/store/profile.js'
import { factsOf } from '../../src/store/search-query.js'
import { recordOf } from '../../src/store/summary.js'
import { failure, profile } from '../parts/fixture.js'

t.test('404s of what browsers request of any server are noise', async (t) => {
  const isMarked = (url: string, pattern?: string, status = 404): boolean => {
    const route: Profile['route'] = pattern === undefined ? null : { name: 'spa', pattern, params: {}, methods: ['GET'] }
    return isNoise(recordOf(profile('000001', { url, status, route })).summary)
  }
  for (const path of [
    '/%66avicon.ico', '/favicon.ico?v=%',
    '/favicon.ico', '/favicon.ico?v=2', '/app/favicon.ico', '/apple-touch-icon-120x120.png', '/.well-known/appspecific/com.chrome.devtools.json',
    '/assets/index-Dk3.js.map', '/style.css.map?t=1', '/sw.js', '/firebase-messaging-sw.js', '/service-worker.js', '/serviceworker.js', '/ngsw-worker.js',
    '/manifest.json', '/site.webmanifest', '/app/manifest.webmanifest'
  ]) {
    t.ok(isMarked(`http://h.example:3000${path}`), path)
    for (const pattern of ['*', '/*', '/assets/*', '/:file', '/:file.:extension', '/v1::x/:path(^.*$)']) {
      t.ok(isMarked(`http://h${path}`, pattern), `${path} with a route for any file: ${pattern}`)
    }
    for (const pattern of ['/favicon.ico', '/:tenant/manifest.json', '/*/sw.js', '/a::b']) {
      t.notOk(isMarked(`http://h${path}`, pattern), `${path} with a route: ${pattern}`)
      t.ok(isMarked(`http://h${path}`, pattern, 200), `${path} that exists`)
    }
    t.notOk(isMarked(`http://h${path}`, undefined, 500), `${path} with 500`)
    t.equal(recordOf(failure('000001', { url: `http://h${path}` })).summary.error, false, 'no list, group or number has it as a failure')
  }
  for (const path of [
    '', '/', '/orders', '/robots.txt', '/favicon.icon', '/favicon.ico/x', '/orders?next=/favicon.ico', '/login#/sw.js', '/.well-known/openid-configuration',
    '/world.map', '/maps.js', '/worker.js', '/news.js', '/orders/manifest', '/package.json'
  ]) {
    t.notOk(isMarked(`http://index.php${path}`), path)
  }
  t.notOk(isMarked('\u0000not a URL'))
})

t.test('a 404 of which more is known than that nothing was found is a failure', async t => {
  const icon = { url: 'http://h/favicon.ico' }
  const thrown = [{ name: 'TypeError', message: 'no audit', frames: [], stack: '' }]
  const both = [...thrown, ...failure('000001').exceptions]
  t.equal(recordOf(failure('000001', { ...icon, exceptions: thrown })).summary.error, true, 'after the response, or by an error handler')
  t.equal(recordOf(failure('000001', { ...icon, collectors: { otherErrors: [thrown] } })).summary.error, true, 'another error')
  t.equal(recordOf(failure('000001', { ...icon, exceptions: both })).summary.error, false, 'the cause of a 404')
})

t.test('a list names what is wrong with a request', async (t) => {
  const of = (collectors: Record<string, unknown>, rest: Partial<Profile> = {}): string[] =>
    factsOf(recordOf(profile('000001', { collectors, ...rest })).summary)
  const log = (level: 'warn' | 'error', message: string) => ({ time: '2026-01-02T03:04:05.678Z', level, channel: 'app', message, context: {} })
  t.same(of({}), [])
  t.same(of({}, { logs: [log('warn', 'is cold'), log('error', 'is\n\nissues=lost.')] }), ['Logs: is issues=lost'])
  t.same(of({}, { logs: [log('warn', 'a · yes\n· b')] }), ['Logs: a - yes - b'], 'one text is one issue')
  const blocked = { performance: { budget: { blocks: [{ start: 1, duration: 150 }] } } }
  t.same(of(blocked, { logs: [log('warn', 'is cold')] }), ['Logs: is cold', 'Timeline: blocked for 150 ms of CPU time'])
  const call = { method: 'GET', url: 'http://h/stock', start: 1, duration: 2, source: null }
  t.same(of({ 'http-client': { count: 2, calls: [{ ...call, status: 200 }, { ...call, status: 503 }] } }), ['Calls: GET http://h/stock: 503'])
  const failed = { system: 'sqlite', statement: 'select', shape: 'select', source: null, start: 1, duration: 1, error: { message: 'no such table' } }
  t.same(of({ queries: { count: 1, failed: 1, queries: [failed], groups: [], findings: [] } }), ['Queries: no such table'])
  const loop = { kind: 'n+1', text: 'N+1: `select` 5 times', queries: [] }
  t.same(of({ queries: { count: 5, failed: 0, queries: [], groups: [], findings: [loop] } }), ['Queries: N+1: `select` 5 times'], 'once')
  const cookie = { blocked: [{ kind: 'cookie', sentence: 'The browser drops the cookie "a".' }] }
  t.same(of(cookie), ['Blocked: The browser drops the cookie "a"'])
  t.same(of(cookie, { status: 401 }), [], 'the status says it')
  t.same(of(blocked, { exceptions: [{ name: 'Error', message: 'm', frames: [], stack: '' }] }), [], 'the exception says it')
  t.equal(recordOf(profile('000001', { status: 500, exceptions: [] })).summary.values?.issues, 'yes')
})
