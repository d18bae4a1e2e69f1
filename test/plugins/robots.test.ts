import t from 'tap'
import { build, eventOf, profileOf } from '../../packages/hindsight/test/support/app.js'

t.test('responses have noindex in debug mode, or as configured', async t => {
  for (const [name, options, expected] of [
    ['debug', {}, 'noindex'],
    ['debug, off', { noIndex: false }, undefined],
    ['production', { debug: false }, undefined],
    ['production, on', { debug: false, noIndex: true }, 'noindex']
  ] as const) {
    const app = await build(t, options, app => app.get('/', () => 'x'))
    for (const url of ['/', '/nix']) t.equal((await app.inject(url)).headers['x-robots-tag'], expected, `${name} ${url}`)
  }
})

t.test('a header of the route is kept', async t => {
  const app = await build(t, {}, app => app.get('/', (_request, reply) => reply.header('x-robots-tag', 'nofollow').send('x')))
  const response = await app.inject('/')
  t.equal(response.headers['x-robots-tag'], 'nofollow')
  t.match(eventOf(await profileOf(app, response), 'kernel.response', 'robots'), { outcome: 'skipped', reason: 'the route has set the header' })
})
