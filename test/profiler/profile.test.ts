import t from 'tap'
import type { ListenerEvent } from '../../plugins/kernel/events.js'
import { wholeProfile, type Profile } from '../../plugins/profiler/profile.js'

const event = (listener: string, outcome: ListenerEvent['outcome'], start: number): ListenerEvent =>
  ({ stage: 'kernel.request', listener, pass: 'main', outcome, start, duration: 0 })

const profile = {
  time: '2026-01-02T03:04:05.006Z',
  logs: [{ time: '2026-01-02T03:04:05.007Z', level: 'info', channel: 'app', message: 'hello', context: {} }],
  events: [event('router', 'ran', 0.2), event('locale', 'skipped', 0.9), event('firewall', 'ran', 1.1), event('pagination', 'ran', 4)]
} as unknown as Profile

t.test('the notifications that a store has not are put back between the lines', async t => {
  const { logs, ...rest } = wholeProfile({ ...profile, notificationsLeftOut: true })
  t.same(logs.map(({ time, message }) => `${time.slice(20, 23)} ${message}`), [
    '006 Notified event "kernel.request" to listener "router".',
    '007 hello',
    '007 Notified event "kernel.request" to listener "firewall".',
    '010 Notified event "kernel.request" to listener "pagination".'
  ])
  t.notOk('notificationsLeftOut' in rest)
})

t.test('a profile that has them is left as it is', async t => {
  t.same(wholeProfile(profile), profile)
})
