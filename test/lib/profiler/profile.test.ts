import t from 'tap'
import { readProfile, type Profile } from '../../../lib/profiler/profile.js'
import { sample } from './sample.js'

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
