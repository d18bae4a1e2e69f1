import t from 'tap'
import type { FastifyReply } from 'fastify'
import type { Outcome, PassName } from '../../src/recording/events.js'
import { EventRecorder, type RecordedFunction } from '../../src/recording/event-recorder.js'
import type { Slot } from '../../src/recording/events.js'

const NAMES = [
  ['kernel.request', 'one', null], ['kernel.request', 'two', 'not configured'], ['kernel.request', 'three', null], ['kernel.request', 'four', 'not configured'],
  ['kernel.controller', 'five', 'not configured'], ['kernel.controller', 'six', null], ['kernel.response', 'seven', null]
] as const
const slots: Slot[] = NAMES.map(([stage, listener, reason], index) => ({ index, stage, listener, reason, run: null }))
const slot = (name: string) => slots.find(({ listener }) => listener === name) as Slot
const hook = (stage: 'onRequest' | 'preHandler' | 'onSend' | 'onResponse', listener: string): RecordedFunction =>
  ({ stage, listener, index: -1, plugin: 'mine', source: 'app.ts:7' })

type HeadersOfReply = Record<string, string | number | string[]>

/** A reply whose headers are those of the object as it is when they are read. */
function replyOf (headers: HeadersOfReply = {}, statusCode = 200): FastifyReply {
  return { raw: { getHeaders () {} }, getHeaders: () => ({ ...headers }), statusCode } as unknown as FastifyReply
}

const mask = (name: string, value: string): string => name === 'set-cookie' ? value.replace(/=[^;]*/, '=***') : value

function recorder (): EventRecorder {
  return new EventRecorder(slots, performance.now(), mask)
}

function run (events: EventRecorder, what: RecordedFunction, reply: FastifyReply, {
  pass = 'main', outcome = 'ran', reason = null
}: { pass?: PassName, outcome?: Outcome, reason?: string | null } = {}): void {
  events.leave(events.enter(reply, what, pass), outcome, reply, reason)
}

const outcomesOf = (recorder: EventRecorder) => recorder.events().map(({ listener, outcome, pass }) => `${pass} ${listener} ${outcome}`)

t.test('skipped listeners have their place in the order', async (t) => {
  const events = recorder()
  for (const name of ['one', 'three', 'six', 'seven']) run(events, slot(name), replyOf())
  t.same(outcomesOf(events), ['one ran', 'two skipped', 'three ran', 'four skipped', 'five skipped', 'six ran', 'seven ran'].map((text) => `main ${text}`))
  t.match(events.events()[1], { reason: 'not configured', duration: 0 })
  const [first, second] = events.events()
  t.ok((second?.start ?? 0) >= (first?.start ?? 0) + (first?.duration ?? 0) - 0.002, 'they have no time of their own')
})

t.test('the rest of a stage comes before a hook that runs after the stage', async (t) => {
  const events = recorder()
  for (const what of [slot('one'), slot('three'), hook('preHandler', 'after'), slot('six')]) run(events, what, replyOf())
  t.same(outcomesOf(events).map((text) => text.slice(5)), ['one ran', 'two skipped', 'three ran', 'four skipped', 'after ran', 'five skipped', 'six ran'])
  const before = recorder()
  for (const what of [hook('onRequest', 'before'), slot('three')]) run(before, what, replyOf())
  t.same(outcomesOf(before).map((text) => text.slice(5)), ['before ran', 'two skipped', 'three ran', 'four skipped'])
})

t.test('listeners after one that raised or answered are not reached', async (t) => {
  for (const outcome of ['raised', 'answered'] as const) {
    const events = recorder()
    run(events, slot('three'), replyOf(), { outcome })
    run(events, slot('six'), replyOf(), { pass: 'error' })
    t.same(outcomesOf(events), ['main two skipped', `main three ${outcome}`, 'error five skipped', 'error six ran'], outcome)
    t.ok(events.reached(slot('three').index, 'main'))
    t.notOk(events.reached(slot('six').index, 'main'))
    t.ok(events.reached(slot('six').index, 'error'))
  }
})

t.test('in an error pass the stage continues after a listener that raised', async (t) => {
  const events = recorder()
  run(events, slot('one'), replyOf(), { pass: 'error', outcome: 'raised' })
  run(events, slot('six'), replyOf(), { pass: 'error' })
  t.same(outcomesOf(events), ['one raised', 'two skipped', 'four skipped', 'five skipped', 'six ran'].map((text) => `error ${text}`))
})

t.test('an event has the changes of its listener', async (t) => {
  const events = recorder()
  const before = replyOf({ a: '1', b: '2', n: 1, gone: 'x' }, 200)
  const after = replyOf({ a: '1', b: '3', n: 1, added: 'y', 'set-cookie': ['s=1; Path=/', 't=2'] }, 301)
  events.leave(events.enter(before, slot('one'), 'main'), 'ran', after)
  t.same(events.events()[0]?.changes, {
    headers: [
      { name: 'b', from: '2', to: '3' },
      { name: 'added', from: null, to: 'y' },
      { name: 'set-cookie', from: null, to: 's=***; Path=/, t=***' },
      { name: 'gone', from: 'x', to: null }
    ],
    status: { from: 200, to: 301 }
  })
  t.match(events.events((_name, value) => value)[0]?.changes?.headers, [{}, {}, { to: 's=1; Path=/, t=2' }], 'with another mask')
  const nothing = recorder()
  run(nothing, slot('one'), replyOf({ a: '1' }), { outcome: 'skipped', reason: 'no reason to' })
  t.equal(nothing.events()[0]?.changes, undefined)
  t.equal(nothing.events()[0]?.reason, 'no reason to')
})

t.test('a new recorder has no events', async (t) => {
  t.same(recorder().events(), [])
})

t.test('an added cookie of an existing list is a change', async (t) => {
  const events = recorder()
  const headers = { 'set-cookie': ['s=1'] }
  const reply = replyOf(headers)
  const frame = events.enter(reply, slot('one'), 'main')
  headers['set-cookie'].push('t=2')
  events.leave(frame, 'ran', reply)
  run(events, slot('three'), reply)
  t.same(events.events().map(({ listener, changes }) => [listener, changes?.headers]), [
    ['one', [{ name: 'set-cookie', from: 's=***', to: 's=***, t=***' }]], ['two', undefined], ['three', undefined], ['four', undefined]
  ])
})

t.test('of nested hooks each has its own changes', async (t) => {
  const events = recorder()
  const headers: HeadersOfReply = {}
  const reply = replyOf(headers)
  const outer = events.enter(reply, hook('onRequest', 'answers'), 'main')
  headers['x-outer'] = '1'
  const inner = events.enter(reply, slot('seven'), 'main')
  headers['x-inner'] = '1'
  Object.assign(reply, { statusCode: 304 })
  events.leave(inner, 'ran', reply)
  headers['x-outer'] = '2'
  events.leave(outer, 'answered', reply)
  events.leave(outer, 'raised', reply, 'a second time')
  t.match(events.events(), [
    {
      listener: 'answers',
      plugin: 'mine',
      source: 'app.ts:7',
      outcome: 'answered',
      changes: { headers: [{ name: 'x-outer', from: null, to: '1' }, { name: 'x-outer', from: '1', to: '2' }] }
    },
    { listener: 'seven', outcome: 'ran', changes: { headers: [{ name: 'x-inner', from: null, to: '1' }], status: { from: 200, to: 304 } } }
  ])
  t.equal(events.events()[0]?.changes?.status, undefined, 'the status is of the inner one')
  t.same(events.unrecordedChanges(), [])
})

t.test('a hook can end after the hook in which it began', async (t) => {
  const events = recorder()
  const headers: HeadersOfReply = {}
  const reply = replyOf(headers)
  const outer = events.enter(reply, hook('onRequest', 'outer'), 'main')
  const inner = events.enter(reply, hook('onSend', 'inner'), 'main')
  events.leave(outer, 'ran', reply)
  headers.late = '1'
  events.leave(inner, 'ran', reply)
  headers.later = '1'
  events.finish(reply.getHeaders() as never)
  t.same(events.events().map(({ listener, changes }) => [listener, changes?.headers?.map(({ name }) => name)]), [['outer', undefined], ['inner', ['late']]])
  t.match(events.unrecordedChanges(), [{ name: 'later', by: 'before Hindsight' }])
})

t.test('hooks without a callback have answered; those after the response continue, and others have not ended', async (t) => {
  const events = recorder()
  const reply = Object.assign(replyOf(), { sent: true })
  events.enter(reply, hook('onRequest', 'answers'), 'main')
  events.enter(reply, hook('onResponse', 'goesOn'), 'main')
  events.leaveAll(reply)
  t.same(outcomesOf(events), ['main answers answered', 'main goesOn ran'])
  events.leaveAll(reply)
  t.equal(outcomesOf(events).length, 2)
  const closed = recorder()
  closed.enter(reply, hook('onSend', 'hangs'), 'main')
  closed.leaveAll(Object.assign(replyOf(), { sent: false }))
  t.same(outcomesOf(closed), ['main hangs running'])
})

t.test('changes outside of recorded functions have their code, place and position', async (t) => {
  const events = recorder()
  const headers: HeadersOfReply = { early: '1' }
  const reply = replyOf(headers)
  events.setCurrentCode(reply, 'Fastify')
  run(events, slot('one'), reply)
  headers.fastify = '1'
  let searches = 0
  events.setCurrentCode(reply, 'handler', () => {
    searches++
    return 'app.ts:9'
  })
  run(events, slot('three'), reply)
  headers.mine = ['a', 'b']
  delete headers.early
  events.setCurrentCode(reply, 'error handler', () => null)
  headers.mine = 'c'
  run(events, slot('seven'), reply)
  events.finish({ ...headers, last: '1' })
  t.same(outcomesOf(events).map((text) => text.slice(5)), ['one ran', 'two skipped', 'three ran', 'four skipped', 'seven ran'])
  t.equal(searches, 0, 'files are read when the profile is built')
  t.same(events.unrecordedChanges(), [
    { name: 'early', from: undefined, to: '1', by: 'before Hindsight', after: 0 },
    { name: 'fastify', from: undefined, to: '1', by: 'Fastify', after: 1 },
    { name: 'mine', from: undefined, to: ['a', 'b'], by: 'handler', source: 'app.ts:9', after: 3 },
    { name: 'early', from: '1', to: undefined, by: 'handler', source: 'app.ts:9', after: 3 },
    { name: 'mine', from: ['a', 'b'], to: 'c', by: 'error handler', after: 3 },
    { name: 'last', from: undefined, to: '1', by: 'error handler', after: 5 }
  ])
})

t.test('changes in a loop are bounded', async (t) => {
  const events = recorder()
  for (let i = 0; i < 300; i++) events.setCurrentCode(replyOf({ n: i }), 'handler')
  t.equal(events.unrecordedChanges().length, 100)
  const many = recorder()
  many.setCurrentCode(replyOf(Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`h${i}`, '1']))), 'handler')
  t.equal(many.unrecordedChanges().length, 100)
})

t.test('the token of each request is in its own changes, even if events were read before', async (t) => {
  for (const token of ['aaaaaa', 'bbbbbb', 'bbbbbb', 'bbbbbb', 'cccccc']) {
    const events = recorder()
    events.leave(events.enter(replyOf(), slot('seven'), 'main'), 'ran', replyOf({ 'x-debug-token': token }))
    for (let i = 0; i < 2; i++) t.same(events.events().at(-1)?.changes, { headers: [{ name: 'x-debug-token', from: null, to: token }] })
  }
})
