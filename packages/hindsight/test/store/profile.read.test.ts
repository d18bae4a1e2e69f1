import t from 'tap'
import { readProfile, type Profile } from '../../src/store/profile.js'
import { sample } from '../parts/sample.js'

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
    [{ logs: 'x' }, '"logs" must be a list of objects'], [{ exceptions: [null] }, '"exceptions" must be a list of objects'],
    [{ exceptions: [{ frames: [null] }] }, '"exceptions" must be errors'], [{ exceptions: [{ errors: ['x'] }] }, '"exceptions" must be errors'],
    [{ exceptions: [{ fields: null }] }, '"exceptions" must be errors']
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
