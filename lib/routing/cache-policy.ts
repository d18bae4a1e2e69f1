import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import fresh from 'fresh'
import { stateOf } from '../lifecycle/request-state.js'
import { secondsOf, type CacheAttribute, type Duration } from './attributes.js'

/** What identifies the current representation of a resource (RFC 9110, section 8.8), as it is sent. */
export interface Validators {
  etag: string | null
  lastModified: string | null
}

/** The result of the preconditions: `fresh` is answered with 304. */
export type Outcome = 'unconditional' | 'stale' | 'fresh'

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
    lastModified: lastModified && new Date(Math.min(lastModified.getTime(), Date.now())).toUTCString()
  }
}

/**
 * An entity tag from any text: kept if it is one, quoted if it can be, or else hashed. A comma would separate two tags.
 */
export function entityTag (text: string, weak: boolean): string {
  const [, prefix = weak ? 'W/' : '', quoted] = /^(W\/)?("[\x21\x23-\x2b\x2d-\x7e]*")$/.exec(text) ?? []
  if (quoted !== undefined) return prefix + quoted
  const isPlain = /^[\x21\x23-\x2b\x2d-\x7e]{1,128}$/.test(text)
  return `${prefix}"${isPlain ? text : createHash('sha256').update(text).digest('base64url')}"`
}

/** Evaluates the preconditions of a retrieval (RFC 9110, section 13.2.2): a tag precedes a date. */
export function evaluate (headers: IncomingHttpHeaders, { etag, lastModified }: Validators): Outcome {
  const { 'if-none-match': tags, 'if-modified-since': since } = headers
  if ((tags ?? since) === undefined || (etag ?? lastModified) === null) return 'unconditional'
  // Without `Cache-Control: no-cache`, which browsers add to the conditional requests of scripts.
  const conditions = { 'if-none-match': tags, 'if-modified-since': since }
  return fresh(conditions, { etag: etag ?? '', 'last-modified': lastModified ?? '' }) ? 'fresh' : 'stale'
}
