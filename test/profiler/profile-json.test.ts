import t from 'tap'
import { EventColumns, type EventSignature } from '../../plugins/kernel/event-columns.js'
import { profileJson, wholeProfile, type ProfileDraft } from '../../plugins/profiler/profile-json.js'
import { failure, profile } from './fixture.js'

const STARTED = Date.parse('2026-01-02T03:04:05.678Z')

const signature = (listener: string, changes: Partial<EventSignature> = {}): EventSignature =>
  ({ index: 0, stage: 'kernel.request', listener, pass: 'main', outcome: 'ran', reason: null, plugin: undefined, source: undefined, ...changes })
const line = (ms: number, message: string): ProfileDraft['logs'][number] =>
  ({ time: new Date(STARTED + ms).toISOString(), level: 'info', channel: 'app', message, context: { quoted: '"\\\n\u2028', deep: [{ a: null }] } })

const signatures = [
  signature('cors'),
  signature('locale', { outcome: 'skipped', reason: 'not configured "ü"' }),
  signature('onRequest', { index: -1, stage: 'onRequest', plugin: 'a"b', source: 'routes/a.ts:3' }),
  signature('router', { outcome: 'raised' }),
  signature('error', { stage: 'kernel.response', pass: 'error' })
]
const changes = [{ headers: [{ name: 'vary', from: null, to: 'origin "x"' }], status: { from: 200, to: 404 } }]
const layout = { recorded: signatures, signatures, sources: [0, -2, 1, 2, 3], places: [1, 3, 4, 5] }
const events = (): EventColumns => new EventColumns(layout, [100, 1_500, 2_999, 3_000], [5, 20, 1_234, 0], [undefined, undefined, changes[0], undefined])

const drafts: Array<[name: string, draft: ProfileDraft]> = [
  ['without events and lines', { ...profile('000001'), events: new EventColumns() }],
  ['with lines only', { ...profile('000001'), events: new EventColumns(), logs: [line(0, 'first'), line(5, 'second')] }],
  ['with events only', { ...profile('000001'), events: events() }],
  ['with lines before, between and after the notifications', { ...failure('000001'), events: events(), logs: [-1, 0, 0, 2, 3, 3, 9].map((ms) => line(ms, `after ${ms} ms`)) }],
  ['with all other fields', { ...failure('000001', { parent: '00000a', replayOf: '00000b' }), collectors: { a: { b: '\u0000\ud83d' } }, events: events() }]
]

for (const [name, draft] of drafts) {
  t.test(`the JSON of a draft is that of its profile: ${name}`, async (t) => {
    const expected: unknown = JSON.parse(JSON.stringify(wholeProfile(draft, STARTED)))
    t.strictSame(JSON.parse(profileJson(draft, STARTED).json), expected)
    t.strictSame(JSON.parse(profileJson(draft, STARTED).json), expected, 'with texts that are kept')
  })
}

t.test('the whole profile has its notifications between the lines', async (t) => {
  const { logs, events: listed } = wholeProfile({ ...profile('000001'), events: events(), logs: [line(1, 'hello')] }, STARTED)
  t.same(logs.map(({ time, message }) => `${time.slice(20, 23)} ${message}`), [
    '678 Notified event "kernel.request" to listener "cors".',
    '679 hello',
    '680 Notified event "kernel.request" to listener "router".',
    '681 Notified event "kernel.response" to listener "error".'
  ])
  t.match(listed, [{ start: 0.1, duration: 0.005 }, { listener: 'locale', start: 0.105, duration: 0 }, { source: 'routes/a.ts:3' }, { changes: changes[0] }, { pass: 'error' }])
})
