import t from 'tap'
import { build, eventOf, profileOf } from '../../packages/hindsight/test/support/app.js'

t.test('the listener flattens a raised error, and is skipped without one', async t => {
  const app = await build(t, {}, app => {
    app.get('/ok', () => 'x')
    app.get('/boom', () => { throw new TypeError('outer', { cause: new RangeError('inner') }) })
  })
  t.match(
    eventOf(await profileOf(app, await app.inject('/ok')), 'kernel.controller_arguments', 'error'),
    { outcome: 'skipped', reason: 'nothing was raised', pass: 'main' }
  )
  const profile = await profileOf(app, await app.inject('/boom'))
  t.match(eventOf(profile, 'kernel.controller_arguments', 'error'), { outcome: 'ran', pass: 'error' })
  t.same(profile.exceptions.map(({ name, message }) => [name, message]), [['RangeError', 'inner'], ['TypeError', 'outer']])
  t.match(profile.exceptions[1]?.frames[0], { file: /error\.test\.ts$/, line: 7, own: true })
})
