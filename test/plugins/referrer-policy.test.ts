import t from 'tap'
import { build, eventOf, profileOf, refusal } from '../../packages/hindsight/test/support/app.js'

t.test('the header has the configured policy', async t => {
  for (const [name, options, expected] of [
    ['default', {}, 'no-referrer, strict-origin-when-cross-origin'],
    ['configured', { referrerPolicy: ['same-origin'] }, 'same-origin'],
    ['none', { referrerPolicy: false }, undefined]
  ] as const) {
    const app = await build(t, options as object, app => app.get('/', () => 'x'))
    for (const url of ['/', '/nix']) t.equal((await app.inject(url)).headers['referrer-policy'], expected, `${name} ${url}`)
  }
})

t.test('a header of the route is kept, and redirects have the header too', async t => {
  const app = await build(t, {}, app => {
    app.get('/own', (_request, reply) => reply.header('referrer-policy', 'origin').send('x'))
    app.get('/redirect', (_request, reply) => reply.redirect('/own'))
  })
  const response = await app.inject('/own')
  t.equal(response.headers['referrer-policy'], 'origin')
  t.match(eventOf(await profileOf(app, response), 'kernel.response', 'referrer-policy'), { outcome: 'skipped', reason: 'the route has set the header' })
  t.equal((await app.inject('/redirect')).headers['referrer-policy'], 'no-referrer, strict-origin-when-cross-origin')
})

t.test('an invalid policy stops the start with the name of the option', async t => {
  t.equal(await refusal({ referrerPolicy: ['no-such-policy'] }), 'Option "referrerPolicy[0]" must be "no-referrer", "no-referrer-when-downgrade", "origin", ' +
    '"origin-when-cross-origin", "same-origin", "strict-origin", "strict-origin-when-cross-origin" or "unsafe-url", not "no-such-policy"')
  t.match(await refusal({ referrerPolicy: [] }), /^referrerPolicy: the list is empty/)
})
