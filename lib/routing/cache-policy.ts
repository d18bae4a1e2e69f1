import type { FastifyRequest } from 'fastify'
import { entityTag, wholeSeconds, type Validators } from '../http/conditional.js'
import { secondsOf } from './duration.js'
import { isPromise } from '../lifecycle/listener.js'
import type { CacheAttribute } from './attributes.js'

/** What a cache attribute comes to, worked out when the route is registered. */
export interface CachePolicy {
  /** `Cache-Control`; null where the attribute says nothing about it. */
  directives: string | null
  /** The same for a response that turned out to be for one client alone. */
  privateDirectives: string
  /** Whether everybody may have the response, as it was declared. */
  isPublic: boolean
  /** `Expires` for a response that is made now; null: none. */
  expires: (() => string) | null
  /** Header names, joined; empty: none. */
  vary: string
  /** Finds the validators of the current representation; null where the attribute has none. */
  validators: ((request: FastifyRequest) => Validators | Promise<Validators>) | null
}

/** As the session's listener has it: made for one, kept by nobody else, and asked for again. */
export const TURNED_PRIVATE = 'max-age=0, must-revalidate, private'

const EXCLUSIVE: ReadonlyArray<readonly [keyof CacheAttribute, keyof CacheAttribute]> = [
  ['public', 'private'], ['sMaxAge', 'private'], ['noStore', 'public'], ['noStore', 'sMaxAge'], ['noStore', 'maxAge'], ['noStore', 'expires']
]

/** Works a cache attribute out; throws with the route's name where it contradicts itself. */
export function cachePolicy (route: string, attribute: CacheAttribute): CachePolicy {
  for (const [one, other] of EXCLUSIVE) {
    if (isSet(attribute[one]) && isSet(attribute[other])) throw new Error(`Route "${route}": config.cache.${one} and config.cache.${other} exclude each other`)
  }
  const isPublic = attribute.public === true || attribute.sMaxAge !== undefined
  const directives = cacheControl(attribute, isPublic)
  const { expires, vary = [] } = attribute
  return {
    directives,
    privateDirectives: isPublic ? TURNED_PRIVATE : directives ?? TURNED_PRIVATE,
    isPublic,
    expires: expires === undefined ? null : () => expiryOf(expires),
    vary: vary.join(', '),
    validators: validatorsFor(route, attribute)
  }
}

// In the order of the alphabet, and private unless it is said otherwise, as the observed service has them.
function cacheControl (attribute: CacheAttribute, isPublic: boolean): string | null {
  const values: Array<[string, boolean | undefined] | [string, CacheAttribute['maxAge'], 'seconds']> = [
    ['immutable', attribute.immutable],
    ['max-age', attribute.maxAge, 'seconds'],
    ['must-revalidate', attribute.mustRevalidate],
    ['no-store', attribute.noStore],
    ['private', !isPublic],
    ['public', isPublic],
    ['s-maxage', attribute.sMaxAge, 'seconds'],
    ['stale-if-error', attribute.staleIfError, 'seconds'],
    ['stale-while-revalidate', attribute.staleWhileRevalidate, 'seconds']
  ]
  const directives = values.filter(([, value]) => isSet(value))
    .map(([name, value, unit]) => unit === 'seconds' ? `${name}=${secondsOf(value)}` : name)
  if (directives.length > 1 || isPublic || attribute.private === true) return directives.join(', ')
  // What has a date may be kept, but not past it; what has an entity tag only is asked for each time.
  return attribute.expires !== undefined || attribute.lastModified !== undefined ? 'private, must-revalidate' : null
}

function isSet (value: unknown): boolean {
  return value !== undefined && value !== false
}

function expiryOf (expires: NonNullable<CacheAttribute['expires']>): string {
  return (expires instanceof Date ? expires : new Date(Date.now() + (secondsOf(expires) ?? 0) * 1000)).toUTCString()
}

function validatorsFor (route: string, attribute: CacheAttribute): CachePolicy['validators'] {
  const { weak = false } = attribute
  if (attribute.etag === undefined && attribute.lastModified === undefined) return null
  return (request) => {
    const etag = attribute.etag?.(request)
    const lastModified = attribute.lastModified?.(request)
    if (!isPromise(etag) && !isPromise(lastModified)) return made(etag, lastModified)
    return Promise.all([etag, lastModified]).then(([tag, date]) => made(tag, date))
  }

  function made (etag: unknown, lastModified: unknown): Validators {
    if (etag !== undefined && etag !== null && typeof etag !== 'string') {
      throw new TypeError(`Route "${route}": config.cache.etag gave ${typeof etag}; it has to give a string`)
    }
    if (lastModified !== undefined && lastModified !== null && !(lastModified instanceof Date && !Number.isNaN(lastModified.getTime()))) {
      throw new TypeError(`Route "${route}": config.cache.lastModified gave ${String(lastModified)}; it has to give a valid Date`)
    }
    return {
      etag: etag === undefined || etag === null || etag === '' ? null : entityTag(etag, weak),
      // RFC 9110, section 8.8.2.1: never later than the message itself.
      lastModified: lastModified === undefined || lastModified === null ? null : wholeSeconds(Math.min(lastModified.getTime(), Date.now()))
    }
  }
}
