import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fresh from 'fresh'
import { addVary, type Duration, isPrivate, isRetrieval, secondsOf, traceOf } from 'fastify-hindsight/recorder'
import type { CacheAttribute } from '../lib/options.js'
import { cache as cachePart } from '../lib/parts/listeners.js'
import { stateOf, type CacheOutcome, type CacheRecord, type Validators } from '../lib/state.js'
import { Answer, defineListener, notConfigured, ofDiagnosticHandler, setIfAbsent, Skip } from '../lib/listener.js'
import { hasSession } from '../lib/security/login-session.js'

const guardedRoute = new Skip('the checks of the route run first')
const noValidators = new Skip('the route declares neither etag nor lastModified')
const notRetrieval = new Skip('caches only store responses to GET and HEAD')
const notFromHandler = new Skip('the response is not the handler\'s')
const notForErrors = new Skip('error responses are not cached by the attribute')

const HAS_CREDENTIALS = 'the request has credentials'
/** The statuses that the attribute applies to, as in the observed service; not to errors. */
const CACHEABLE_STATUSES = [200, 203, 204, 206, 300, 301, 302, 304, 307, 308]
const VALIDATOR_STATUSES = [200, 203, 206, 304]

/** Answers 304 before the handler runs, if the client has the current validators (RFC 9110, section 13). */
export const httpCache = defineListener('kernel.controller', 'http-cache', (app) => {
  // Attributes of routes whose own checks run after this listener: a refusal takes precedence (RFC 9110, 13.2.1).
  const guarded = new Set<CacheAttribute>()
  app.addHook('onRoute', function checkRoute (route) {
    const { config: { cache, security, isGranted } = {} } = route
    if (cache === undefined) return
    // The HEAD route that Fastify adds to a GET route has the hooks of that.
    const hooks = [route.preHandler ?? []].flat().filter((hook) => hook !== markHandlerReached)
    if (security !== undefined || isGranted !== undefined || hooks.length > 0) guarded.add(cache)
    route.preHandler = [...hooks, markHandlerReached]
  })

  // Runs after the checks of the route, which have not refused the request. Routes may share their attributes.
  async function markHandlerReached (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
    const cache = stateOf(request).attributes?.cache
    const isGuarded = cache !== undefined && guarded.has(cache) && isRetrieval(request)
    if (isGuarded && await answerConditional(request, reply, cache) !== undefined) return reply.send()
    recordOf(request, reply).isReached = true
  }

  return (request, reply) => {
    const cache = stateOf(request).attributes?.cache
    if (cache === undefined) return notConfigured
    if (stateOf(request).failed) return ofDiagnosticHandler
    if (cache.etag === undefined && cache.lastModified === undefined) return noValidators
    if (!isRetrieval(request)) return notRetrieval
    if (guarded.has(cache)) return guardedRoute
    return answerConditional(request, reply, cache)
  }
})

/** Answers with 304 where the client has the current representation. */
async function answerConditional (
  request: FastifyRequest, reply: FastifyReply, cache: CacheAttribute
): Promise<Answer | undefined> {
  const validators = await declaredValidators(cache, request)
  const outcome = evaluatePreconditions(request.headers, validators)
  const record = Object.assign(recordOf(request, reply), { outcome, validators })
  if (outcome !== 'fresh') return
  record.isReached = true
  reply.code(304)
  return new Answer(undefined)
}

/** Sets `Cache-Control`, `Expires`, `ETag`, `Last-Modified` and `Vary` as the attribute declares them. */
export const httpCacheResponse = defineListener('kernel.response', 'http-cache', () => (request, reply) => {
  const isForced = stateOf(request).credentialsUsed === true && forcePrivate(request, reply)
  const skip = respond(request, reply)
  if (!isForced) return skip
})

function respond (request: FastifyRequest, reply: FastifyReply): Skip | undefined {
  const cache = stateOf(request).attributes?.cache
  if (cache === undefined) return notConfigured
  if (stateOf(request).failed || reply.statusCode >= 400) return notForErrors
  if (!isRetrieval(request)) return notRetrieval
  if (!recordOf(request, reply).isReached) return notFromHandler
  if (CACHEABLE_STATUSES.includes(reply.statusCode)) apply(cache, request, reply)
}

// The handler may have set `Cache-Control` without regard to the user.
function forcePrivate (request: FastifyRequest, reply: FastifyReply): boolean {
  if (isPrivate(reply)) return false
  reply.header('cache-control', FORCED_PRIVATE)
  recordOf(request, reply).private = HAS_CREDENTIALS
  return true
}

function apply (cache: CacheAttribute, request: FastifyRequest, reply: FastifyReply): void {
  const { expires, vary = [] } = cache
  const record = recordOf(request, reply)
  const isUnset = stateOf(request).defaultCacheControl === true || !reply.hasHeader('cache-control')
  const forced = isPublic(cache) && isUnset ? whyPrivate(request, reply) : null
  record.private ??= forced ?? (isPublic(cache) || !isUnset ? null : 'the route does not declare it public')
  if (isUnset) {
    const directives = forced === null ? cacheControl(cache) : FORCED_PRIVATE
    if (directives !== null) reply.header('cache-control', directives)
    if (forced === null && expires !== undefined) setIfAbsent(reply, 'expires', expiryOf(expires))
  }
  if (vary.length > 0) addVary(reply, vary.join(', '))
  if (record.validators !== null && VALIDATOR_STATUSES.includes(reply.statusCode)) {
    setValidators(reply, record.validators)
  }
}

// RFC 9111, section 3.5, and sessions, which caches cannot distinguish.
function whyPrivate (request: FastifyRequest, reply: FastifyReply): string | null {
  const { credentialsUsed, sessionUsed } = stateOf(request)
  if (sessionUsed) return 'the session was used'
  if (credentialsUsed) return HAS_CREDENTIALS
  if (request.headers.authorization !== undefined) return 'the request has an Authorization header'
  // The handler, which did not run, might have used the session.
  if (reply.statusCode === 304 && hasSession(request)) {
    return 'the client has a session, and the handler was not called'
  }
  return null
}

function recordOf (request: FastifyRequest, reply: FastifyReply): CacheRecord {
  const state = stateOf(request)
  if (state.cache !== undefined) return state.cache
  const record: CacheRecord = { outcome: 'unconditional', validators: null, isReached: false, private: null }
  state.cache = record
  state.trace.collect(cachePart, () => {
    const { validators, isReached, ...decision } = record
    const headers = state.recording.sending.headers
    return traceOf(request).services.mask.value({
      ...decision,
      etag: validators?.etag ?? null,
      lastModified: validators?.lastModified ?? null,
      cacheControl: headers['cache-control'] ?? null,
      expires: headers.expires ?? null,
      vary: headers.vary ?? null
    })
  })
  return record
}

function setValidators (reply: FastifyReply, { etag, lastModified }: Validators): void {
  if (etag !== null) setIfAbsent(reply, 'etag', etag)
  // RFC 9110, section 15.4.5: on a 304 the date is only useful without an entity tag.
  const isDated = reply.statusCode !== 304 || !reply.hasHeader('etag')
  if (lastModified !== null && isDated) setIfAbsent(reply, 'last-modified', lastModified)
}

/** `Cache-Control` of a response that must be private although it was declared public. */
const FORCED_PRIVATE = 'max-age=0, must-revalidate, private'

/** Whether an attribute allows shared caches to store the response. */
function isPublic ({ public: isDeclared, sMaxAge, private: isPrivate, noStore }: CacheAttribute): boolean {
  return (isDeclared === true || sMaxAge !== undefined) && isPrivate !== true && noStore !== true
}

/** The `Cache-Control` of an attribute, with directives in alphabetical order; null if it has none. */
function cacheControl (attribute: CacheAttribute): string | null {
  const seconds = (value: Duration | undefined): string | false => value !== undefined && `=${secondsOf(value)}`
  const values = Object.entries({
    immutable: attribute.immutable,
    'max-age': seconds(attribute.maxAge),
    'must-revalidate': attribute.mustRevalidate,
    'no-store': attribute.noStore,
    private: !isPublic(attribute),
    public: isPublic(attribute),
    's-maxage': seconds(attribute.sMaxAge),
    'stale-if-error': seconds(attribute.staleIfError),
    'stale-while-revalidate': seconds(attribute.staleWhileRevalidate)
  }).filter(([, value]) => value !== undefined && value !== false)
  const directives = values.map(([name, value]) => typeof value === 'string' ? name + value : name)
  if (directives.length > 1 || isPublic(attribute) || attribute.private === true) return directives.join(', ')
  // A response with a date may be stored, and must be revalidated after it.
  if (attribute.expires === undefined && attribute.lastModified === undefined) return null
  return 'private, must-revalidate'
}

/** The `Expires` of a response that is made now. */
function expiryOf (expires: Duration | Date): string {
  return (expires instanceof Date ? expires : new Date(Date.now() + (secondsOf(expires) ?? 0) * 1000)).toUTCString()
}

/** The validators that an attribute declares for a request. */
async function declaredValidators (attribute: CacheAttribute, request: FastifyRequest): Promise<Validators> {
  const [etag, changed] = await Promise.all([attribute.etag?.(request), attribute.lastModified?.(request)])
  // RFC 9110, section 8.8.2.1: never later than the message itself.
  const changedAt = Math.min(Number(changed ?? NaN), Date.now())
  return {
    etag: etag ? entityTag(String(etag)) : null,
    lastModified: Number.isNaN(changedAt) ? null : new Date(changedAt).toUTCString()
  }
}

/** Text as an entity tag: kept if it is one, quoted if it can be, or else hashed. A comma would separate two tags. */
export function entityTag (text: string): string {
  if (/^(?:W\/)?"[\x21\x23-\x2b\x2d-\x7e]*"$/.test(text)) return text
  if (/^[\x21\x23-\x2b\x2d-\x7e]{1,128}$/.test(text)) return `"${text}"`
  return `"${createHash('sha256').update(text).digest('base64url')}"`
}

/** Evaluates the preconditions of a retrieval (RFC 9110, section 13.2.2): a tag precedes a date. */
export function evaluatePreconditions (headers: IncomingHttpHeaders, { etag, lastModified }: Validators): CacheOutcome {
  const { 'if-none-match': tags, 'if-modified-since': since } = headers
  if ((tags ?? since) === undefined || (etag ?? lastModified) === null) return 'unconditional'
  // Without `Cache-Control: no-cache`, which browsers add to the conditional requests of scripts.
  const conditions = { 'if-none-match': tags, 'if-modified-since': since }
  return fresh(conditions, { etag: etag ?? '', 'last-modified': lastModified ?? '' }) ? 'fresh' : 'stale'
}
