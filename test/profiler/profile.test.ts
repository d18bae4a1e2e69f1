import t from 'tap'
import type { ListenerEvent } from '../../plugins/kernel/events.js'
import { marked } from '../../plugins/kernel/token-mark.js'
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

t.test('the token is told again where a store has a mark in its place, and nowhere else', async t => {
  const mark = marked('abc', 'abc')
  const told = (name: string, to: string): ListenerEvent => ({
    ...event('web-debug-toolbar', 'ran', 5),
    changes: { headers: [{ name: 'etag', from: null, to: '"abc"' }, { name, from: null, to }] }
  })
  const stored = {
    ...profile,
    token: 'fedcba',
    tokenLeftOut: true,
    events: [...profile.events, told('x-debug-token', mark), told('x-debug-token-link', `/_profiler/${mark}`), told('x-debug-token-link', '/of/the/application')],
    collectors: {
      request: { headers: { 'x-debug-token': mark } },
      response: { status: 200, headers: { 'x-debug-token': mark, 'x-debug-token-link': `http://a.example/_profiler/${mark}`, 'x-own': mark } }
    }
  } as unknown as Profile
  const { collectors, events, ...rest } = wholeProfile(stored)
  t.same(collectors, {
    request: { headers: { 'x-debug-token': mark } },
    response: { status: 200, headers: { 'x-debug-token': 'fedcba', 'x-debug-token-link': 'http://a.example/_profiler/fedcba', 'x-own': mark } }
  })
  t.same(events.slice(-3).map(({ changes }) => changes?.headers?.map(({ to }) => to)), [['"abc"', 'fedcba'], ['"abc"', '/_profiler/fedcba'], ['"abc"', '/of/the/application']])
  t.same(events.slice(0, -3), profile.events)
  t.notOk('tokenLeftOut' in rest)
})

t.test('a value that does not end with the token has no mark', async t => {
  for (const value of ['', 'abcd', 'abc/', 7, null, ['abc']]) t.equal(marked(value, 'abc'), value)
  t.equal(marked('of the application', ''), 'of the application', 'nor where there is no token')
})
