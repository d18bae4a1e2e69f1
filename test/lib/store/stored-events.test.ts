import t from 'tap'
import type { ListenerEvent } from '../../../lib/lifecycle/events.js'
import type { Profile } from '../../../lib/store/profile.js'
import { readProfile, storedJson, withEvents } from '../../../lib/store/stored-events.js'
import { sample } from '../parts/sample.js'

const shared = { stage: 'kernel.request', pass: 'main', start: 0.1, duration: 0.02 } as const
const EVENTS: ListenerEvent[] = [
  { ...shared, listener: 'one', outcome: 'ran' },
  { ...shared, listener: 'two', outcome: 'skipped', reason: 'not configured' },
  { ...shared, stage: 'onRequest', listener: 'hook', outcome: 'answered', plugin: 'mine', source: 'app.ts:7' },
  { ...shared, listener: 'three', outcome: 'raised', changes: { status: { from: 200, to: 500 } } },
  { ...shared, pass: 'error', listener: 'four', outcome: 'ran', changes: { headers: [{ name: 'x', from: null, to: '1' }] } }
]

t.test('stored events are read as they were', async (t) => {
  const profile = { token: '000001', events: EVENTS } as unknown as Profile
  const stored = JSON.parse(storedJson(profile)) as Profile
  t.same(withEvents(stored), profile)
  t.same(withEvents(profile), profile, 'events may be objects already')
  t.equal(storedJson(stored), storedJson(profile), 'a stored profile may be stored again')
  t.same((stored.events as unknown as unknown[])[0], [
    'kernel.request', 'main', ['one', 0.1, 0.02], ['two', 0.1, 0.02, { reason: 'not configured' }]
  ])
})

const messages = ({ logs }: Profile): string[] => logs.map(({ message }) => message).filter((message) => message.startsWith('Notified'))

t.test('a stored profile gets one log line for each listener that ran', async (t) => {
  const expected = sample().events.filter(({ outcome }) => outcome !== 'skipped').length
  const read = readProfile(sample())
  t.equal(messages(read).length, expected)
  t.ok(expected > 0)
})

t.test('a profile with other data is unchanged', async (t) => {
  for (const changes of [
    { events: undefined }, { events: [{}] }, { time: 'yesterday' },
    { events: [{ ...sample().events[0], start: 1e300 }] }
  ] as object[]) {
    const odd = { ...sample(), ...changes } as Profile
    t.same(readProfile(odd), odd, JSON.stringify(changes))
  }
})

t.test('data of another form are no profile', async (t) => {
  for (const [changes, message] of [
    [{ url: null }, '"url" must be a string'], [{ token: { toString: 'x' } }, '"token" must be a string'], [{ status: '200' }, '"status" must be a number'],
    [{ collectors: [] }, '"collectors" must be an object'], [{ collectors: null }, '"collectors" must be an object'],
    [{ logs: 'x' }, '"logs" must be a list of objects'], [{ exceptions: [null] }, '"exceptions" must be a list of objects']
  ] as const) {
    const expected = { statusCode: 400, code: 'HINDSIGHT_INVALID_PROFILE', message: `The stored profile is not in the format of this version: ${message}.` }
    t.throws(() => readProfile({ ...sample(), ...changes } as unknown as Profile), expected)
  }
})

t.test('objects with a member `toString` or `valueOf` are read as data, and have a text', async (t) => {
  const odd = { toString: 'x', valueOf: [{ toString: null }] }
  const { collectors } = readProfile({ ...sample(), collectors: { request: { headers: { a: odd, b: [odd] } } } } as unknown as Profile)
  const { headers } = collectors.request as { headers: { a: object, b: object[] } }
  t.equal(String(headers.a), JSON.stringify(odd))
  t.equal(String(headers.b), JSON.stringify(odd))
  t.equal(JSON.stringify(headers), JSON.stringify({ a: odd, b: [odd] }))
})
