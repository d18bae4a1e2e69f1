import type { Profile } from '../profile.js'

type Exception = Profile['exceptions'][number]

// A failure that comes again has the very same exceptions, and they are most of what its profile holds.
const known = new WeakMap<Exception, Buffer | null>()

/** An exception as JSON in UTF-8: that of one that comes again is kept. */
export function exceptionJson (exception: Exception): Buffer | string {
  const seen = known.get(exception)
  if (seen instanceof Buffer) return seen
  const json = JSON.stringify(exception)
  if (seen === undefined) {
    known.set(exception, null)
    return json
  }
  const octets = Buffer.from(json)
  known.set(exception, octets)
  return octets
}

/** A profile without its exceptions as JSON, in two parts between which they belong. */
export function aroundExceptions (profile: object): [before: string, after: string] {
  const entries = Object.entries(profile)
  const at = entries.findIndex(([name]) => name === 'exceptions')
  const before = JSON.stringify(Object.fromEntries(entries.slice(0, at)))
  const after = JSON.stringify(Object.fromEntries(entries.slice(at + 1)))
  return [
    `${before.slice(0, -1)}${before === '{}' ? '' : ','}"exceptions":[`,
    `]${after === '{}' ? '' : ','}${after.slice(1)}`
  ]
}
