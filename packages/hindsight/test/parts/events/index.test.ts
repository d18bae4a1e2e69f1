import t from 'tap'
import type { ListenerEvent } from '../../../src/recording/events.js'
import { events as eventsPanel, headerHistory } from '../../../src/parts/events/index.js'
import { profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'
import { profile } from '../fixture.js'
import { sample } from '../sample.js'
import { shown, texts } from '../support.js'

const base = { pass: 'main', outcome: 'ran', start: 0, duration: 0 } as const
const change = (listener: string, name: string, from: string | null, to: string | null, more: Partial<ListenerEvent> = {}): ListenerEvent =>
  ({ ...base, stage: 'kernel.response', listener, changes: { headers: [{ name, from, to }] }, ...more })

t.test('the panel has passes, stages, outcomes and changes', async t => {
  const root = shown(eventsPanel, sample())
  t.same(texts(root, 'h3'), ['Listeners and hooks', 'Response headers, and where they were set'])
  t.same(texts(root, '.stage'), ['kernel.request', 'kernel.controller_arguments, error pass', 'kernel.response, error pass'])
  t.same(texts(root, '.event td:first-child'), ['1', '2', '3', '4'])
  t.same(texts(root, '.event > th'), ['cors skipped', 'router raised', 'error', 'clickjacking'])
  t.same(texts(root, '.outcome'), ['skipped', 'raised'])
  t.same(texts(root, '.event td.text').filter((_, i) => i % 2 === 1), [
    'not configured plain', '', 'status: 200 → 404',
    'x-frame-options: DENYvary: plain → plain, betag: plain (removed)'
  ])
  t.same(texts(root, '.filters label'), ['1 not configured or skipped'])
})

t.test('events keep their order, even if a stage occurs twice', async t => {
  const root = shown(eventsPanel, profile('000001', {
    duration: 0,
    events: [
      { ...base, stage: 'kernel.request', listener: 'a' }, { ...base, stage: 'kernel.response', listener: 'b' },
      { ...base, stage: 'kernel.request', listener: 'c' }
    ]
  }))
  t.same(texts(root, '.event > th'), ['a', 'b', 'c'])
})

t.test('the panel has the history of each header', async t => {
  const outside = (by: string, from: string | null, to: string | null, after: number, more: object = {}): object =>
    ({ name: 'a', by, from, to, after, ...more })
  for (const [name, events, changes, expected] of [
    ['set by a listener', [change('clickjacking', 'a', null, '1')], [], [['clickjacking', null, '1']]],
    [
      'set by the handler, changed by a listener', [change('response', 'a', '1', '2')], [outside('handler', null, '1', 0)],
      [['handler', null, '1'], ['response', '1', '2']]
    ],
    [
      'set early, changed by the handler, and again', [change('cors', 'a', null, '1', { stage: 'kernel.request' }), change('response', 'a', '2', null)],
      [outside('handler', '1', '2', 1)], [['cors', null, '1'], ['handler', '1', '2'], ['response', '2', null]]
    ],
    ['set by route hooks', [change('response', 'a', '1', '2')], [outside('route hooks', null, '1', 0)], [['route hooks', null, '1'], ['response', '1', '2']]],
    [
      'an error pass', [change('response', 'a', '1', '2', { pass: 'error' })], [outside('error handler', null, '1', 0)],
      [['error handler', null, '1'], ['response', '1', '2']]
    ],
    ['the page', [], [outside('diagnostic page', 'x', null, 0)], [['diagnostic page', 'x', null]]],
    [
      'before and after all', [change('response', 'b', null, '1')],
      [outside('before Hindsight', null, '1', 0), outside('Fastify', '1', '2', 1), outside('Hindsight', '2', '3', 9)],
      [['before Hindsight', null, '1'], ['Fastify', '1', '2'], ['Hindsight', '2', '3']]
    ],
    ['other words', [], [outside('<b>', null, '1', 0), { name: 'a', by: 7, from: 7, after: 'x' }], [['<b>', null, '1'], ['7', null, null]]]
  ] as const) {
    const history = headerHistory(profile('000001', { events: [...events], collectors: { headers: { changes } } }))
    t.same(history.get('a')?.map(({ by, from, to }) => [by, from, to]), expected, name)
  }
  const history = headerHistory(profile('000001', {
    events: [change('response', 'a', '1', '2'), change('mine', 'a', '2', '3', { stage: 'onSend', source: 'app.ts:3' })],
    collectors: { headers: { changes: [outside('handler', null, '1', 0, { source: 'app.ts:9' })] } }
  }))
  t.same(history.get('a')?.map(({ event, source }) => [event, source]), [[undefined, 'app.ts:9'], [1, undefined], [2, 'app.ts:3']])
  for (const collectors of [{}, { headers: null }, { headers: { changes: 'no' } }] as Array<Record<string, unknown>>) {
    t.equal(headerHistory(profile('000001', { collectors })).size, 0)
  }
})

inBothProducts('a real response has the history of its headers', async (t, build, product) => {
  const app = await build(async (app) => {
    app.get('/', async (_request, reply) => reply.header('x-frame-options', 'SAMEORIGIN').header('x-own', '1').type('text/plain').send('x'))
    app.get(
      '/hooks',
      { preValidation: async (_request, reply) => { reply.header('x-own', '1') }, onSend: async (_request, reply) => { reply.header('x-late', '1') } },
      async (_request, reply) => reply.header('x-own', '2').send('x')
    )
    await app.register(async (part) => {
      part.addHook('onRequest', async function stamp (_request, reply) { reply.header('x-own', '1') })
      part.setErrorHandler((_error, _request, reply) => reply.header('x-failed', '1').code(500).send('failed'))
      part.get('/fails', async (_request, reply) => {
        reply.header('x-own', '2')
        throw new Error('no')
      })
    })
  })
  const historyOf = async (url: string): Promise<Record<string, string[]>> => {
    const root = shown(eventsPanel, await profileOf(app, await app.inject(url)))
    return Object.fromEntries([...root.querySelectorAll('.history tbody tr')].map((row) => [row.querySelector('th')?.textContent ?? '', texts(row, 'li')]))
  }
  const here = (what: string, value: string) => new RegExp(`^${what} packages/hindsight/test/parts/events/index\\.test\\.ts:\\d+: ${value}$`)
  t.match(await historyOf('/'), {
    'x-own': [here('set by handler', '1')],
    'x-frame-options': [here('set by handler', 'SAMEORIGIN')],
    'content-type': [here('set by handler', 'text/plain')],
    ...(product === 'service' && { 'x-content-type-options': ['set by content-type: nosniff'] })
  })
  t.match(await historyOf('/hooks'), {
    'x-own': [here('set by route hooks', '1'), here('changed by handler', '2')],
    'x-late': [here('set by route hooks', '1')]
  })
  t.match(await historyOf('/fails'), {
    'x-own': [here('set by stamp', '1'), here('changed by handler', '2')],
    'x-failed': ['set by error handler: 1']
  })
})
