import t from 'tap'
import { build, eventOf, profileOf, refusal } from '../../packages/hindsight/test/support/app.js'
import type { ServiceOptions } from '../../lib/options.js'

t.test('rules by path decide which origins may frame a page', async t => {
  const rules: ServiceOptions = {
    clickjacking: [
      { path: '/embed', frameOptions: false },
      { path: /^\/admin\b/, frameOptions: 'DENY' },
      { path: '/', frameOptions: 'SAMEORIGIN' }
    ]
  }
  for (const [name, options, url, expected] of [
    ['default', {}, '/x', 'DENY'],
    ['on failures', {}, '/nix', 'DENY'],
    ['off', { clickjacking: false }, '/x', undefined],
    ['allowed for a path', rules, '/embed/x', undefined],
    ['by expression', rules, '/admin/x', 'DENY'],
    ['the rest', rules, '/x', 'SAMEORIGIN'],
    ['the query is no path', rules, '/x?/embed', 'SAMEORIGIN'],
    ['no rule matches', { clickjacking: [{ path: '/embed', frameOptions: false }] } as ServiceOptions, '/x', 'DENY'],
    ['a rule for everything', { clickjacking: [{ frameOptions: 'SAMEORIGIN' }] } as ServiceOptions, '/x', 'SAMEORIGIN']
  ] as const) {
    const app = await build(t, options, app => {
      for (const path of ['/x', '/embed/x', '/admin/x']) app.get(path, () => 'x')
    })
    t.equal((await app.inject(url)).headers['x-frame-options'], expected, name)
  }
})

t.test('the profile has the reason for a missing header', async t => {
  const app = await build(t, { clickjacking: [{ path: '/embed', frameOptions: false }] }, app => {
    app.get('/embed', () => 'x')
    app.get('/own', (_request, reply) => reply.header('x-frame-options', 'SAMEORIGIN').send('x'))
    app.get('/redirect', (_request, reply) => reply.redirect('/own'))
  })
  for (const [url, expected, reason] of [
    ['/embed', undefined, 'framing is allowed for this path'],
    ['/own', 'SAMEORIGIN', 'the route has set the header'],
    ['/redirect', undefined, 'not on redirects']
  ] as const) {
    const response = await app.inject(url)
    t.equal(response.headers['x-frame-options'], expected, url)
    t.match(eventOf(await profileOf(app, response), 'kernel.response', 'clickjacking'), { outcome: 'skipped', reason })
  }
})

t.test('an invalid option stops the start with its name', async t => {
  t.equal(await refusal({ clickjacking: [{ frameOptions: 'ALLOW-FROM https://a.test' }] }),
    'Option "clickjacking[0].frameOptions" must be "DENY", "SAMEORIGIN" or false, not "ALLOW-FROM https://a.test"')
})
