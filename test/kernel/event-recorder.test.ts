import t from 'tap'
import type { FastifyReply } from 'fastify'
import { EventRecorder } from '../../plugins/kernel/event-recorder.js'
import { newSlot, type Slot } from '../../plugins/kernel/lifecycle.js'

const NAMES = [
  ['kernel.request', 'one', null], ['kernel.request', 'two', 'not configured'], ['kernel.request', 'three', null], ['kernel.request', 'four', 'not configured'],
  ['kernel.controller', 'five', 'not configured'], ['kernel.controller', 'six', null], ['kernel.response', 'seven', null]
] as const
const slots: Slot[] = NAMES.map(([stage, listener, reason], index) => newSlot(index, stage, listener, reason))
const slot = (name: string) => slots.find(({ listener }) => listener === name) as Slot

function replyOf (headers: Record<string, string | number | string[]>, statusCode = 200): FastifyReply {
  return { getHeaders: () => ({ ...headers }), statusCode } as unknown as FastifyReply
}

const mask = (name: string, value: string): string => name === 'set-cookie' ? value.replace(/=[^;]*/, '=***') : value

function recorder (): EventRecorder {
  return new EventRecorder(slots, performance.now(), mask)
}
const told = (recorder: EventRecorder) => recorder.events().map(({ listener, outcome, pass }) => `${pass} ${listener} ${outcome}`)

t.test('listeners with nothing to do stand where they are in the order', async t => {
  const events = recorder()
  const reply = replyOf({})
  for (const name of ['one', 'three', 'six', 'seven']) {
    events.before(reply)
    events.record(slot(name), 'main', 'ran', performance.now(), reply, null)
  }
  t.same(told(events), ['one ran', 'two skipped', 'three ran', 'four skipped', 'five skipped', 'six ran', 'seven ran'].map(text => `main ${text}`))
  t.match(events.events()[1], { reason: 'not configured', duration: 0 })
})

t.test('behind one that raised or answered nothing was reached', async t => {
  for (const outcome of ['raised', 'answered'] as const) {
    const events = recorder()
    const reply = replyOf({})
    events.before(reply)
    events.record(slot('three'), 'main', outcome, performance.now(), reply, null)
    events.before(reply)
    events.record(slot('six'), 'error', 'ran', performance.now(), reply, null)
    t.same(told(events), ['main two skipped', `main three ${outcome}`, 'error five skipped', 'error six ran'], outcome)
    t.ok(events.reached(slot('three'), 'main'))
    t.notOk(events.reached(slot('six'), 'main'))
    t.ok(events.reached(slot('six'), 'error'))
  }
})

t.test('what a listener changed', async t => {
  const events = recorder()
  events.before(replyOf({ a: '1', b: '2', n: 1, gone: 'x' }, 200))
  events.record(slot('one'), 'main', 'ran', performance.now(), replyOf({ a: '1', b: '3', n: 1, added: 'y', 'set-cookie': ['s=1; Path=/', 't=2'] }, 301), null)
  t.same(events.events()[0]?.changes, {
    headers: [
      { name: 'b', from: '2', to: '3' },
      { name: 'added', from: null, to: 'y' },
      { name: 'set-cookie', from: null, to: 's=***; Path=/, t=***' },
      { name: 'gone', from: 'x', to: null }
    ],
    status: { from: 200, to: 301 }
  })
  const nothing = recorder()
  nothing.before(replyOf({ a: '1' }))
  nothing.record(slot('one'), 'main', 'skipped', performance.now(), replyOf({ a: '1' }), 'no reason to')
  t.equal(nothing.events()[0]?.changes, undefined)
  t.equal(nothing.events()[0]?.reason, 'no reason to')
})

t.test('nothing happened', async t => {
  t.same(recorder().events(), [])
})

t.test('where changes are told of, the headers are looked at only then', async t => {
  const events = new EventRecorder(slots, performance.now(), (_name, value) => value, true)
  let looks = 0
  const headers: Record<string, string> = { a: '1' }
  const raw: Record<string, string> = {}
  const reply = {
    getHeaders: () => { looks++; return { ...raw, ...headers } },
    getHeader: (name: string) => { looks++; return headers[name] ?? raw[name] },
    raw: { getHeaderNames: () => Object.keys(raw) },
    statusCode: 200
  } as unknown as FastifyReply
  const run = (name: string, change?: () => void) => {
    const at = events.before(reply)
    change?.()
    events.record(slot(name), 'main', 'ran', at, reply, null)
    return events.events().find(({ listener }) => listener === name)?.changes?.headers
  }
  t.equal(run('one'), undefined)
  t.equal(looks, 0)
  t.same(run('three', () => { events.touch(reply, 'a'); headers.a = '2'; events.touch(reply, 'b'); headers.b = '3'; events.touch(reply, 'a'); headers.a = '4'; events.touch(reply, 'c') }), [{ name: 'a', from: '1', to: '4' }, { name: 'b', from: null, to: '3' }])
  t.same(run('six', () => { raw['x-raw'] = 'y' }), [{ name: 'x-raw', from: null, to: 'y' }], 'on the response of Node.js itself')
  t.same(run('seven', () => { raw['x-raw'] = 'z' }), [{ name: 'x-raw', from: 'y', to: 'z' }], 'and changed there')
})

t.test('a cookie more, in the list that is there', async (t) => {
  const events = recorder()
  const headers = { 'set-cookie': ['s=1'] }
  const reply = replyOf(headers)
  events.before(reply)
  headers['set-cookie'].push('t=2')
  events.record(slot('one'), 'main', 'ran', performance.now(), reply, null)
  events.before(reply)
  events.record(slot('three'), 'main', 'ran', performance.now(), reply, null)
  t.same(events.events().map(({ listener, changes }) => [listener, changes?.headers]), [
    ['one', [{ name: 'set-cookie', from: 's=***', to: 's=***, t=***' }]], ['two', undefined], ['three', undefined], ['four', undefined]
  ])
})

t.test('the token of each request is in its own changes, also where events were read meanwhile', async t => {
  for (const token of ['aaaaaa', 'bbbbbb', 'bbbbbb', 'bbbbbb', 'cccccc']) {
    const events = recorder()
    events.before(replyOf({}))
    events.record(slot('seven'), 'main', 'ran', performance.now(), replyOf({ 'x-debug-token': token }), null)
    for (let i = 0; i < 2; i++) t.same(events.events().at(-1)?.changes, { headers: [{ name: 'x-debug-token', from: null, to: token }] })
  }
})
