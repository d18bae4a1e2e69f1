import t from 'tap'
import { withReportUri } from '../src/http/responses.js'
import { editedRequest } from '../src/reading/replay/edited.js'
import type { Profile } from '../src/store/profile.js'
import { recordOf } from '../src/store/summary.js'
import { oneLine } from '../src/view/text.js'
import { profile } from './parts/fixture.js'
import { growthOf } from './support/cpu-time.js'

const failure = (message: string): Profile => profile('000001', {
  status: 500, exceptions: [{ name: 'Error', message, stack: '', frames: [] }]
} as Partial<Profile>)

t.test('what reads texts of clients takes linear time', async t => {
  for (const [name, run] of [
    ['a message as one line', oneLine],
    ['a policy', (text: string) => withReportUri(`default-src x${text}`, '/r')],
    ['the fingerprint of a failure', (text: string) => recordOf(failure(text))],
    ['a header of an edited request', (text: string) =>
      editedRequest({ method: 'GET', url: '/', headers: `a:${text.replaceAll('\n', ' ')}`, body: '' }, profile('000002'))]
  ] as const) {
    for (const piece of [' ', '\t', ' \n', 'a ', 'A-', '0', 'a0-', '-1.', ';', '; ', ': ', '\u00a0']) {
      t.ok(growthOf(run, piece, 20_000) <= 3.2, `${name}: ${JSON.stringify(piece)}`)
    }
  }
  t.equal(oneLine('a \n\n  b  c\nd'), 'a b  c d')
  t.equal(withReportUri("default-src 'self'; ", '/r'), "default-src 'self';report-uri /r")
})
