import t from 'tap'
import { lifecycle } from '../../app/lifecycle.js'
import { build, profileOf } from '../../packages/hindsight/test/support/app.js'

// What a route may declare is known only when a route has matched.
const BY_ROUTE = new Set([
  'locale', 'pagination', 'controller-attributes', 'param-converter', 'http-cache', 'template', 'security-expression', 'is-granted', 'link-header'
])

const CONFIGURABLE = [
  ['kernel.request', 'default-locale'], ['kernel.request', 'locale'], ['kernel.request', 'locale-aware-services'], ['kernel.request', 'logout-url'],
  ['kernel.request', 'firewall'], ['kernel.request', 'pagination'],
  ['kernel.controller_arguments', 'security-expression'], ['kernel.controller_arguments', 'is-granted'],
  ['kernel.response', 'link-header'],
  ['kernel.finish_request', 'locale'], ['kernel.finish_request', 'firewall'],
  ['kernel.finish_request', 'locale-aware-services']
] as const

t.test('listeners without configuration are skipped, with the reason', async t => {
  const app = await build(t, {}, app => app.get('/', () => 'x'))
  const { events } = await profileOf(app, await app.inject('/'))
  t.equal(events.length, Object.values(lifecycle).flat().length)
  for (const [stage, listener] of CONFIGURABLE) {
    const found = events.filter(event => event.stage === stage && event.listener === listener)
    t.match(found, [{ outcome: 'skipped', reason: 'not configured', pass: 'main' }], `${stage} ${listener}`)
    t.equal(found.length, 1)
    const slot = app.service.slots.find(slot => slot.stage === stage && slot.listener === listener)
    if (!BY_ROUTE.has(listener)) t.equal(slot?.run, null, `${stage} ${listener} costs nothing`)
  }
})

t.test('outside debug mode no listener that records is active', async t => {
  const app = await build(t, { debug: false }, app => app.get('/', () => 'x'))
  t.equal((await app.inject('/')).statusCode, 200)
  const idle = app.service.slots.filter(({ run }) => run === null).map(({ listener }) => listener)
  for (const listener of ['debug-handlers', 'profiler', 'debug-toolbar', 'router-data-collector', 'error']) t.ok(idle.includes(listener), listener)
})
