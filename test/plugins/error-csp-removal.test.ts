import t from 'tap'
import { build, eventOf, profileOf } from '../../packages/hindsight/test/support/app.js'

const OWN = new RegExp("^default-src 'none'; style-src 'nonce-([^']+)'; script-src 'nonce-([^']+)'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'$")

t.test('the diagnostic page has its own policy, whatever the policy of the application', async t => {
  for (const [name, contentSecurityPolicy] of [
    ['default', undefined],
    ['none', false],
    ['reported', { reportOnly: { 'default-src': ["'none'"] } }],
    ['loose', { enforce: { 'default-src': ['*'] } }]
  ] as const) {
    const app = await build(t, contentSecurityPolicy === undefined ? {} : { contentSecurityPolicy }, app => {
      app.get('/boom', (_request, reply) => { reply.header('content-security-policy', 'script-src *'); throw new Error('boom') })
    })
    for (const url of ['/nix', '/boom']) {
      const { headers, body } = await app.inject(url)
      const [, style = '', script = ''] = OWN.exec(String(headers['content-security-policy'])) ?? []
      t.not(style, '', `${name} ${url}`)
      t.not(style, script)
      t.equal(headers['content-security-policy-report-only'], undefined)
      const used = [...body.matchAll(/<(style|script) nonce="([^"]+)"/g)].map(
        ([, element, nonce]) => [element, nonce?.replaceAll('&#61;', '=').replaceAll('&#43;', '+').replaceAll('&#47;', '/')]
      )
      t.ok(used.length > 0)
      for (const [element, nonce] of used) t.equal(nonce, element === 'style' ? style : script)
    }
  }
})

t.test('pages of the application keep the policy of the application', async t => {
  const app = await build(t, {}, app => app.get('/', () => 'x'))
  const response = await app.inject('/')
  t.match(response.headers['content-security-policy'], /^default-src 'self';/)
  t.match(
    eventOf(await profileOf(app, response), 'kernel.response', 'error-csp-removal'), { outcome: 'skipped', reason: 'the response is not a diagnostic page' }
  )
})

t.test('the short page has the policy of the application', async t => {
  const app = await build(t, { debug: false })
  t.match((await app.inject('/nix')).headers['content-security-policy'], /^default-src 'self';/)
})
