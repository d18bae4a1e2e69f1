import t from 'tap'
import { build, eventOf, profileOf, refusal } from '../../packages/hindsight/test/support/app.js'

t.test('the legacy auditor is off by default', async t => {
  for (const [name, options, expected] of [
    ['default', {}, '0'],
    ['on', { xssProtection: '1' }, '1'],
    ['block', { xssProtection: '1; mode=block' }, '1; mode=block'],
    ['none', { xssProtection: false }, undefined]
  ] as const) {
    const app = await build(t, options, app => app.get('/', () => 'x'))
    t.equal((await app.inject('/')).headers['x-xss-protection'], expected, name)
  }
})

t.test('a header of the route is kept, and redirects have none', async t => {
  const app = await build(t, {}, app => {
    app.get('/own', (_request, reply) => reply.header('x-xss-protection', '1').send('x'))
    app.get('/redirect', (_request, reply) => reply.redirect('/own'))
  })
  for (const [url, expected, reason] of [['/own', '1', 'the route has set the header'], ['/redirect', undefined, 'not on redirects']] as const) {
    const response = await app.inject(url)
    t.equal(response.headers['x-xss-protection'], expected)
    t.match(eventOf(await profileOf(app, response), 'kernel.response', 'xss-protection'), { outcome: 'skipped', reason })
  }
})

t.test('an invalid value stops the start', async t => {
  t.equal(await refusal({ xssProtection: '2' }), 'Option "xssProtection" must be "0", "1", "1; mode=block" or false, not "2"')
})
