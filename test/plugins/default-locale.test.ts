import t from 'tap'
import { build, eventOf, profileOf, refusal } from '../../packages/hindsight/test/support/app.js'

t.test('a request has the configured locale', async t => {
  for (const [options, expected] of [[{}, 'en'], [{ defaultLocale: 'de' }, 'de'], [{ defaultLocale: 'pt-BR' }, 'pt-BR']] as const) {
    const app = await build(t, options, app => app.get('/', request => request.locale))
    const response = await app.inject('/')
    t.equal(response.body, expected)
    const event = 'defaultLocale' in options ? { outcome: 'ran' } : { outcome: 'skipped', reason: 'not configured' }
    t.match(eventOf(await profileOf(app, response), 'kernel.request', 'default-locale'), event)
  }
})

t.test('a locale that one request sets does not affect the next', async t => {
  const app = await build(t, {}, app => {
    app.get('/change', request => { request.locale = 'fr'; return request.locale })
    app.get('/', request => request.locale)
  })
  t.equal((await app.inject('/change')).body, 'fr')
  t.equal((await app.inject('/')).body, 'en')
})

t.test('an invalid locale stops the start with the name of the option', async t => {
  for (const defaultLocale of ['not a locale', '', 'e']) {
    t.equal(await refusal({ defaultLocale }), 'Option "defaultLocale" must be a language tag, not another string')
  }
})
