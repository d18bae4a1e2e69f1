import t from 'tap'
import type { ListenerEvent } from '../../../lib/lifecycle/events.js'
import type { Profile } from '../../../lib/profiler/profile.js'
import { storedJson, withEvents } from '../../../lib/profiler/stored-events.js'

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
