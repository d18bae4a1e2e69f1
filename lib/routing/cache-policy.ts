import type { FastifyRequest } from 'fastify'
import { entityTag, wholeSeconds, type Validators } from '../http/conditional.js'
import { stateOf } from '../lifecycle/request-state.js'
import { secondsOf, type CacheAttribute, type Duration } from './attributes.js'

/** `Cache-Control` of a response that must be private although it was declared public. */
export const TURNED_PRIVATE = 'max-age=0, must-revalidate, private'

const EXCLUSIVE: ReadonlyArray<readonly [keyof CacheAttribute, keyof CacheAttribute]> = [
  ['public', 'private'], ['sMaxAge', 'private'], ['noStore', 'public'], ['noStore', 'sMaxAge'], ['noStore', 'maxAge'],
  ['noStore', 'expires']
]

/** Throws with the name of the route where its attribute contradicts itself. */
export function checkCache (route: string, attribute: CacheAttribute): void {
  const contradiction = EXCLUSIVE.find(([one, other]) => isSet(attribute[one]) && isSet(attribute[other]))
  if (contradiction === undefined) return
  const [one, other] = contradiction
  throw new Error(`Route "${route}": config.cache.${one} and config.cache.${other} exclude each other`)
}

/** Whether an attribute allows shared caches to store the response. */
export function isPublic (attribute: CacheAttribute): boolean {
  return attribute.public === true || attribute.sMaxAge !== undefined
}

/**
 * The `Cache-Control` of an attribute; null where it has no directive. Directives are in alphabetical order, and
 * private by default, as in the observed service.
 */
export function cacheControl (attribute: CacheAttribute): string | null {
  const seconds = (value: Duration | undefined): string | undefined => {
    return value === undefined ? undefined : `=${secondsOf(value)}`
  }
  const directives = Object.entries({
    immutable: attribute.immutable,
    'max-age': seconds(attribute.maxAge),
    'must-revalidate': attribute.mustRevalidate,
    'no-store': attribute.noStore,
    private: !isPublic(attribute),
    public: isPublic(attribute),
    's-maxage': seconds(attribute.sMaxAge),
    'stale-if-error': seconds(attribute.staleIfError),
    'stale-while-revalidate': seconds(attribute.staleWhileRevalidate)
  }).filter(([, value]) => isSet(value)).map(([name, value]) => typeof value === 'string' ? name + value : name)
  if (directives.length > 1 || isPublic(attribute) || attribute.private === true) return directives.join(', ')
  // A response with a date may be stored, and must be revalidated after it.
  return attribute.expires !== undefined || attribute.lastModified !== undefined ? 'private, must-revalidate' : null
}

function isSet (value: unknown): boolean {
  return value !== undefined && value !== false
}

/** The `Expires` of a response that is made now. */
export function expiryOf (expires: Duration | Date): string {
  return (expires instanceof Date ? expires : new Date(Date.now() + (secondsOf(expires) ?? 0) * 1000)).toUTCString()
}

/** The validators that an attribute declares for a request. Throws where they are of a wrong type. */
export async function declaredValidators (attribute: CacheAttribute, request: FastifyRequest): Promise<Validators> {
  const found = await Promise.all([attribute.etag?.(request), attribute.lastModified?.(request)])
  const [etag, lastModified] = found.map((value) => value ?? null) as [unknown, unknown]
  const fail = (problem: string): never => {
    throw new TypeError(`Route "${stateOf(request).route?.name ?? ''}": config.cache.${problem}`)
  }
  if (etag !== null && typeof etag !== 'string') return fail(`etag returned ${typeof etag}; it must return a string`)
  if (lastModified !== null && !(lastModified instanceof Date && !Number.isNaN(lastModified.getTime()))) {
    return fail(`lastModified returned ${String(lastModified)}; it must return a valid Date`)
  }
  return {
    etag: etag === null || etag === '' ? null : entityTag(etag, attribute.weak ?? false),
    // RFC 9110, section 8.8.2.1: never later than the message itself.
    lastModified: lastModified === null ? null : wholeSeconds(Math.min(lastModified.getTime(), Date.now()))
  }
}
