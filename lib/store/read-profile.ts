import createError from '@fastify/error'
import { withNotifications } from '../logs/log-record.js'
import type { Profile } from './profile.js'

const InvalidProfileError = createError('HINDSIGHT_INVALID_PROFILE',
  'The stored profile is not in the format of this version: "%s" must be %s.', 400)

const TYPES = {
  'a string': ['token', 'time', 'method', 'url', 'ip'],
  'a number': ['duration', 'status'],
  'an object': ['collectors'],
  'a list of objects': ['exceptions', 'logs']
} as const

/**
 * A stored profile, with a debug line for each listener that ran. Throws for data that are no profile: a store of the
 * application may hold anything.
 */
export function readProfile (stored: Profile): Profile {
  for (const [type, names] of Object.entries(TYPES)) {
    const invalid = names.find((name) => typeNameOf(stored[name]) !== type)
    if (invalid !== undefined) throw new InvalidProfileError(invalid, type)
  }
  makeConvertible(stored)
  try {
    return { ...stored, logs: withNotifications(stored.logs, stored.events, Date.parse(stored.time)) }
  } catch {
    return stored
  }
}

function typeNameOf (value: unknown): string {
  if (Array.isArray(value)) {
    return value.every((item) => typeNameOf(item) === 'an object') ? 'a list of objects' : 'a list'
  }
  return value === null ? 'null' : `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`
}

/** Without this, `String` throws for an object with a member `toString` or `valueOf`. */
function makeConvertible (value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  if (Object.hasOwn(value, 'toString') || Object.hasOwn(value, 'valueOf')) {
    Object.defineProperty(value, Symbol.toPrimitive, { value: () => JSON.stringify(value), configurable: true })
  }
  Object.values(value).forEach(makeConvertible)
}
