import t from 'tap'
import type { ListenerEvent } from '../../../lib/lifecycle/events.js'
import type { Profile } from '../../../lib/profiler/profile.js'
import { readProfile, storedJson, withEvents } from '../../../lib/profiler/stored-events.js'
import { sample } from './sample.js'

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
    { events: undefined }, { events: [{}] }, { logs: 'x' }, { logs: [null] }, { time: 'yesterday' },
    { events: [{ ...sample().events[0], start: 1e300 }] }
  ] as object[]) {
    const odd = { ...sample(), ...changes } as Profile
    t.same(readProfile(odd), odd, JSON.stringify(changes))
  }
})
