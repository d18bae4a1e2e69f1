import t from 'tap'
import { lifecycle } from '../../../app/lifecycle.js'
import type { ListenerEvent } from '../../../plugins/kernel/events.js'
import { headerHistory } from '../../../plugins/profiler/panels/events/header-history.js'
import { ORDER } from '../../../plugins/profiler/panels/events/order.js'
import { eventsPanel } from '../../../plugins/profiler/panels/events/panel.js'
import { build, profileOf } from '../../support/app.js'
import { profile } from '../fixture.js'
import { sample } from '../sample.js'
import { shown, texts } from './support.js'

const base = { pass: 'main', outcome: 'ran', start: 0, duration: 0 } as const
const change = (listener: string, name: string, from: string | null, to: string | null, more: Partial<ListenerEvent> = {}): ListenerEvent =>
  ({ ...base, stage: 'kernel.response', listener, changes: { headers: [{ name, from, to }] }, ...more })

t.test('the names of the 42 places are those of the lifecycle', async t => {
  t.same(ORDER.map(([stage, listeners]) => [stage, listeners]), Object.entries(lifecycle).map(([stage, listeners]) => [stage, listeners.map(({ listener }) => listener)]))
  t.equal(ORDER.flatMap(([, listeners]) => listeners).length, 42)
})

t.test('passes, stages, outcomes and what changed', async t => {
  const root = shown(eventsPanel, sample())
  t.same(texts(root, 'h3'), ['Main pass', 'Error pass', 'Never reached', 'Headers of the response, and who set them'])
  t.same(texts(root, '.stage'), ['kernel.request', 'kernel.controller_arguments', 'kernel.response'])
  t.same(texts(root, '.event td:first-child'), ['1', '2', '3', '4'])
  t.same(texts(root, '.event > th'), ['cors', 'router', 'error', 'clickjacking'])
  t.same(texts(root, '.outcome'), ['skipped', 'raised', 'ran', 'ran'])
  t.same(texts(root, '.event td.text'), [
    'not configured plain', '', 'status: 200 → 404attributes: plain',
    'x-frame-options: DENYvary: plain → plain, betag: plain (removed)'
  ])
  t.same(texts(root, '.filters label'), ['called 3', 'skipped 1'])
})

t.test('the order is never changed, even where a stage comes twice', async t => {
  const root = shown(eventsPanel, profile('000001', {
    duration: 0,
    events: [{ ...base, stage: 'kernel.request', listener: 'a' }, { ...base, stage: 'kernel.response', listener: 'b' }, { ...base, stage: 'kernel.request', listener: 'c' }]
  }))
  t.same(texts(root, '.event > th'), ['a', 'b', 'c'])
})

t.test('what was never reached, and why', async t => {
  const root = shown(eventsPanel, sample())
  t.match(root.textContent, /The main pass ended at router of kernel\.request, which raised an error\./)
  t.same(texts(root, '.unreached tr').slice(-1), ['kernel.finish_requestlocale, router, firewall, asset-reset, locale-aware-services'])
  t.match(texts(root, '.unreached tr')[0], /^kernel\.requestdebug-handlers, content-security-policy, request-validation, session, default-locale, locale,/)
  const all = ORDER.flatMap(([stage, listeners]) => listeners.map((listener) => ({ ...base, stage, listener })))
  t.match(shown(eventsPanel, profile('000001', { events: all })).textContent, /All 42 places of the lifecycle were reached\./)
  t.match(shown(eventsPanel, profile('000001', { events: all.slice(0, 3) })).textContent, /The request ended before they came\./)
  t.match(shown(eventsPanel, profile('000001', { events: [{ ...base, stage: 'kernel.request', listener: 'cors', outcome: 'answered' }] })).textContent, /The main pass ended at cors of kernel\.request, which answered\./)
})

t.test('the history of a header', async t => {
  const handled = { performance: { handlerStart: 1, handler: 1 } }
  for (const [name, events, collectors, expected] of [
    ['set by a listener', [change('clickjacking', 'a', null, '1')], {}, [['clickjacking', null, '1']]],
    ['set by the handler, changed by a listener', [change('response', 'a', '1', '2')], handled, [['your handler', null, '1'], ['response', '1', '2']]],
    ['set early, changed by the handler, and again', [change('cors', 'a', null, '1', { stage: 'kernel.request' }), change('response', 'a', '2', null)], handled, [['cors', null, '1'], ['your handler', '1', '2'], ['response', '2', null]]],
    ['no handler ran', [change('response', 'a', '1', '2')], {}, [['a hook or plugin outside the listeners', null, '1'], ['response', '1', '2']]],
    ['an error pass', [change('response', 'a', '1', '2', { pass: 'error' })], handled, [['the handler of the error', null, '1'], ['response', '1', '2']]],
    ['changed behind the lifecycle', [change('response', 'a', null, '1')], { response: { headers: { a: ['1', '2'] } } }, [['response', null, '1'], ['a hook behind the lifecycle', '1', '1, 2']]],
    ['untouched by listeners', [change('response', 'b', null, '1')], { ...handled, response: { headers: { a: 5 } } }, [['your handler', null, '5']]],
    ['a value that is kept shorter', [change('response', 'a', null, 'x'.repeat(99))], { response: { headers: { a: 'xx… (97 more bytes)' } } }, [['response', null, 'x'.repeat(99)]]]
  ] as const) {
    const history = headerHistory(profile('000001', { events: [...events], collectors }))
    t.same(history.get('a')?.map(({ by, from, to }) => [by, from, to]), expected, name)
  }
  t.same(headerHistory(profile('000001', { collectors: { response: { headers: { 'content-length': 5 } } } })).get('content-length'), [{ by: 'Fastify', from: null, to: '5' }])
})

t.test('the history of a real response', async t => {
  const app = await build({
    declare: (app) => {
      app.get('/', async (_request, reply) => reply.header('x-frame-options', 'SAMEORIGIN').header('x-own', '1').type('text/plain').send('x'))
    }
  })
  t.teardown(() => app.close())
  const root = shown(eventsPanel, await profileOf(app, await app.inject('/')))
  const history = Object.fromEntries([...root.querySelectorAll('.history tbody tr')].map((row) => [row.querySelector('th')?.textContent, texts(row, 'li')]))
  const here = (value: string, via = 'reply.header') => new RegExp(`^set by your handler test/profiler/panels/events\\.test\\.ts:\\d+ ${via}: ${value}$`)
  t.match(history, {
    'x-own': [here('1')],
    'x-frame-options': [here('SAMEORIGIN')],
    'content-type': [here('text/plain', 'reply.type'), 'changed by response plugins/listeners/response.ts: text/plain; charset=utf-8'],
    'x-content-type-options': ['set by content-type plugins/listeners/content-type.ts: nosniff'],
    date: ['set by Node.js: the moment at which it was sent']
  })
})
