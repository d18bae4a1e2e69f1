import type { FastifyRequest } from 'fastify'
import { entityTag, wholeSeconds, type Validators } from '../http/conditional.js'
import { isPromise } from '../lifecycle/listener.js'
import { secondsOf, type CacheAttribute } from './attributes.js'

/** What a cache attribute means, worked out when the route is registered. */
export interface CachePolicy {
  /** `Cache-Control`; null where the attribute does not concern it. */
  directives: string | null
  /** Whether shared caches may store the response, as it was declared. */
  isPublic: boolean
  /** `Expires` for a response that is made now; null: none. */
  expires: (() => string) | null
  /** Header names, joined; empty: none. */
  vary: string
  /** Finds the validators of the current representation; null where the attribute has none. */
  validators: ((request: FastifyRequest) => Validators | Promise<Validators>) | null
}

/** `Cache-Control` of a response that turned out to be for one client, the same as for one that used the session. */
export const TURNED_PRIVATE = 'max-age=0, must-revalidate, private'

const EXCLUSIVE: ReadonlyArray<readonly [keyof CacheAttribute, keyof CacheAttribute]> = [
  ['public', 'private'], ['sMaxAge', 'private'], ['noStore', 'public'], ['noStore', 'sMaxAge'], ['noStore', 'maxAge'], [
    'noStore', 'expires'
  ]
]

/** Makes the policy of an attribute. Throws with the route's name where the attribute contradicts itself. */
export function cachePolicy (route: string, attribute: CacheAttribute): CachePolicy {
  for (const [one, other] of EXCLUSIVE) {
    if (isSet(attribute[one]) && isSet(attribute[other])) {
      throw new Error(`Route "${route}": config.cache.${one} and config.cache.${other} exclude each other`)
    }
  }
  const isPublic = attribute.public === true || attribute.sMaxAge !== undefined
  const { expires, vary = [], etag, lastModified } = attribute
  return {
    directives: cacheControl(attribute, isPublic),
    isPublic,
    expires: expires === undefined ? null : () => expiryOf(expires),
    vary: vary.join(', '),
    validators: etag === undefined && lastModified === undefined
      ? null
      : (request) => validatorsOf(route, attribute, request)
  }
}

// In alphabetical order, and private by default, as in the observed service.
function cacheControl (attribute: CacheAttribute, isPublic: boolean): string | null {
  const seconds = (value: CacheAttribute['maxAge']): string | undefined => value === undefined
    ? undefined
    : `=${secondsOf(value)}`
  const directives = Object.entries({
    immutable: attribute.immutable,
    'max-age': seconds(attribute.maxAge),
    'must-revalidate': attribute.mustRevalidate,
    'no-store': attribute.noStore,
    private: !isPublic,
    public: isPublic,
    's-maxage': seconds(attribute.sMaxAge),
    'stale-if-error': seconds(attribute.staleIfError),
    'stale-while-revalidate': seconds(attribute.staleWhileRevalidate)
  }).filter(([, value]) => isSet(value)).map(([name, value]) => typeof value === 'string' ? name + value : name)
  if (directives.length > 1 || isPublic || attribute.private === true) return directives.join(', ')
  // A response with a date may be stored, and must be revalidated after it.
  return attribute.expires !== undefined || attribute.lastModified !== undefined ? 'private, must-revalidate' : null
}

function isSet (value: unknown): boolean {
  return value !== undefined && value !== false
}

function expiryOf (expires: NonNullable<CacheAttribute['expires']>): string {
  return (expires instanceof Date ? expires : new Date(Date.now() + (secondsOf(expires) ?? 0) * 1000)).toUTCString()
}

function validatorsOf (
  route: string, attribute: CacheAttribute, request: FastifyRequest
): Validators | Promise<Validators> {
  const etag = attribute.etag?.(request)
  const lastModified = attribute.lastModified?.(request)
  if (!isPromise(etag) && !isPromise(lastModified)) return checkedValidators(route, attribute, etag, lastModified)
  return Promise.all([etag, lastModified]).then(([tag, date]) => checkedValidators(route, attribute, tag, date))
}

function checkedValidators (
  route: string, { weak = false }: CacheAttribute, etag: unknown = null, lastModified: unknown = null
): Validators {
  if (etag !== null && typeof etag !== 'string') {
    throw new TypeError(`Route "${route}": config.cache.etag returned ${typeof etag}; it must return a string`)
  }
  if (lastModified !== null && !(lastModified instanceof Date && !Number.isNaN(lastModified.getTime()))) {
    throw new TypeError(
      `Route "${route}": config.cache.lastModified returned ${String(lastModified)}; it must return a valid Date`
    )
  }
  return {
    etag: etag === null || etag === '' ? null : entityTag(etag, weak),
    // RFC 9110, section 8.8.2.1: never later than the message itself.
    lastModified: lastModified === null ? null : wholeSeconds(Math.min(lastModified.getTime(), Date.now()))
  }
}
