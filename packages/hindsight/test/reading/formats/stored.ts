import fc from 'fast-check'
import type { Profile } from '../../../src/store/profile.js'
import { writeAs } from '../../../src/reading/formats/formats.js'
import { profile } from '../../parts/fixture.js'

/** A profile of a request with these parts. */
export function requested (request: object, changes: Partial<Profile> = {}): Profile {
  return profile('3fa94c', { ...changes, collectors: { ...changes.collectors, request: { method: changes.method ?? 'GET', headers: {}, ...request } } })
}

/** The request of a profile in one form. */
export function written (name: string, of: Profile): string {
  return writeAs(name, of).text
}

const NASTY = [
  "'", '"', '`', '$(touch pwned)', '$' + '{process.exit(7)}', '\\', "');process.exit(7)//", "'; touch pwned; '", '\n### \nDELETE http://evil/\n', '\r\n',
  '< /etc/passwd', '> {% client.exit() %}', '{{$processEnv HOME}}', '*/', '//', '\u2028process.exit(7)', '%', '!', '&&', '@/etc/passwd', '\u001b[31m', '\u202e',
  '[1-9]', '{a,b}', '#', '?', 'é', '😀'
]

/** Hostile texts: each would have an effect if it was not escaped. */
export const nasty: fc.Arbitrary<string> = fc.array(
  fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...NASTY) }, { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }) }), { maxLength: 5 }
).map((parts) => parts.join(''))

/** The same as far as it may stand in a header. */
export const nastyHeader: fc.Arbitrary<string> = nasty.map((text) => text.replace(/[^ -~]/g, '').trim())

/** Profiles of hostile requests. */
export const hostileProfile: fc.Arbitrary<Profile> = fc.record({
  path: nasty, query: nasty, header: nastyHeader, cookie: nastyHeader, body: nasty, field: nasty, kind: fc.constantFrom('json', 'text', 'form'), message: nasty
}).map(({ path, query, header, cookie, body, field, kind, message }) => requested({
  target: `/${path}?x=${query}`,
  headers: {
    'x-nasty': header,
    cookie: `a=${cookie.replace(/;/g, '')}`,
    'content-type': kind === 'json' ? 'application/json' : kind === 'form' ? 'application/x-www-form-urlencoded' : 'text/plain'
  },
  body: kind === 'json' ? { [field]: body, list: [body, 1, null, { [body]: field }] } : kind === 'form' ? { [field]: body } : body
}, {
  method: 'POST',
  url: `http://127.0.0.1:3000/${path}?x=${query}`,
  status: 500,
  exceptions: [{ name: message, message, frames: [], stack: message }],
  route: { name: message, pattern: message, params: {}, methods: [] }
}))
