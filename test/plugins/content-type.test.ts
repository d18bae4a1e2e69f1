import t from 'tap'
import { build, eventOf, profileOf } from '../../packages/hindsight/test/support/app.js'

t.test('browsers do not guess content types', async t => {
  const app = await build(t, {}, app => {
    app.get('/', () => 'x')
    app.get('/own', (_request, reply) => reply.header('x-content-type-options', 'mine').send('x'))
    app.get('/redirect', (_request, reply) => reply.redirect('/', 303))
    app.get('/boom', () => { throw new Error('boom') })
  })
  for (const [url, expected, event] of [
    ['/', 'nosniff', { outcome: 'ran' }],
    ['/own', 'mine', { outcome: 'skipped', reason: 'the route has set the header' }],
    ['/redirect', undefined, { outcome: 'skipped', reason: 'not on redirects' }],
    ['/nix', 'nosniff', { outcome: 'ran' }],
    ['/boom', 'nosniff', { outcome: 'ran' }]
  ] as const) {
    const response = await app.inject(url)
    t.equal(response.headers['x-content-type-options'], expected, url)
    t.match(eventOf(await profileOf(app, response), 'kernel.response', 'content-type'), event, url)
  }
})
