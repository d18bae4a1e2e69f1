import t from 'tap'
import { Redirects } from '../../../lib/profiler/request-profiles.js'

const client = { ip: '192.0.2.1', userAgent: 'a browser' }
const from = { ...client, url: 'http://a.test/from?x=1' }

t.test('a redirect is followed once, by the same client, to the same URL, within 30 seconds', async t => {
  for (const [name, location, follower, after, expected] of [
    ['a path', '/to', { url: 'http://a.test/to' }, 0, '00000a'],
    ['relative', 'to?a=b', { url: 'http://a.test/to?a=b' }, 0, '00000a'],
    ['absolute, with a fragment', 'https://b.test/to#there', { url: 'https://b.test/to' }, 29_999, '00000a'],
    ['too late', '/to', { url: 'http://a.test/to' }, 30_000, null],
    ['another place', '/to', { url: 'http://a.test/other' }, 0, null],
    ['another query', '/to?a=1', { url: 'http://a.test/to' }, 0, null],
    ['another client', '/to', { url: 'http://a.test/to', ip: '192.0.2.2' }, 0, null],
    ['another browser', '/to', { url: 'http://a.test/to', userAgent: 'b' }, 0, null],
    ['nowhere', 'http://', { url: 'http://' }, 0, null]
  ] as const) {
    const redirects = new Redirects()
    redirects.remember(from, location, '00000a', 0)
    t.equal(redirects.take({ ...client, ...follower }, after), expected, name)
    t.equal(redirects.take({ ...client, ...follower }, after), null, `${name}: once`)
  }
})

t.test('the list of redirects is bounded in number and time', async t => {
  const redirects = new Redirects()
  for (let i = 0; i < 1_500; i++) redirects.remember(from, `/${i}`, 'a', 0)
  t.equal(redirects.take({ ...client, url: 'http://a.test/499' }, 1), null)
  t.equal(redirects.take({ ...client, url: 'http://a.test/500' }, 1), 'a')
  redirects.remember(from, '/new', 'b', 40_000)
  t.equal(redirects.take({ ...client, url: 'http://a.test/501' }, 40_000), null, 'it is too old')
  redirects.remember({ ...from, ip: '' }, '/x', 'b', 40_000)
  t.equal(redirects.take({ ...client, ip: '', url: 'http://a.test/x' }, 40_000), null)
  const long = `/${'x'.repeat(3_000)}`
  redirects.remember(from, long, 'b', 40_000)
  t.equal(redirects.take({ ...client, url: `http://a.test${long}` }, 40_000), null)
})
