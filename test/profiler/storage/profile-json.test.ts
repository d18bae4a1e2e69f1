import t from 'tap'
import type { Profile } from '../../../plugins/profiler/profile.js'
import { profileJson } from '../../../plugins/profiler/storage/profile-json.js'
import { failure, profile } from '../fixture.js'
import { sample } from '../sample.js'

function text (profile: object): string {
  return Buffer.concat(profileJson(profile).map((part) => Buffer.from(part as string))).toString()
}

t.test('the parts are the JSON of the profile, however often its exceptions come again', async (t) => {
  const line = (context: Record<string, unknown>): Profile['logs'][number] => ({ time: '2026-01-01T00:00:00.000Z', level: 'error', channel: 'app', message: '"exceptions":[]', context })
  const cases: Array<[name: string, given: object]> = [
    ['without a failure', profile('000001')],
    ['of a failure', failure('000002')],
    ['of hostile text', sample('</script>\u0000\n\ud83d😀__proto__"logs":[')],
    ['with log lines', { ...failure('000003'), logs: [line({ err: { stack: 'ü'.repeat(50) } }), line({}), line({ err: null, a: 1 })] }],
    ['with what JSON leaves out', { ...failure('000004'), parent: undefined }],
    ['with these parts alone', { exceptions: [], logs: [] }]
  ]
  for (const [name, given] of cases) for (let times = 1; times <= 3; times++) t.equal(text(given), JSON.stringify(given), `${name}, ${times}`)
})

t.test('what comes again is kept, what comes once is not', async (t) => {
  const given = failure('000005')
  const kept = (): number => profileJson(given).filter((part) => part instanceof Buffer).length
  t.same([kept(), kept(), kept()], [0, given.exceptions.length, given.exceptions.length])
})
