import type { FastifyReply, FastifyRequest } from 'fastify'
import { addVary, isPrivate, setIfAbsent } from '../lib/http/responses.js'
import { Answer, listener, Skip } from '../lib/lifecycle/listener.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { servicesOf } from '../lib/lifecycle/services.js'
import { attributesOf, notDeclared, ofDiagnosticHandler, type CacheAttribute } from '../lib/routing/attributes.js'
import {
  cacheControl, checkCache, declaredValidators, evaluate, expiryOf, isPublic, TURNED_PRIVATE, type Outcome,
  type Validators
} from '../lib/routing/cache-policy.js'
import { routeName } from '../lib/routing/route-table.js'

/** How the preconditions of a request were evaluated; the profile shows it. */
interface CacheRecord {
  outcome: Outcome
  validators: Validators | null
  /** Whether the handler was reached, or replaced by a 304: the attribute does not apply to other answers. */
  reached: boolean
  /** Why the response is for its client alone. */
  private: string | null
}

declare module '../lib/lifecycle/request-state.js' {
  interface RequestState {
    /** How the preconditions of the request were evaluated. */
    cache?: CacheRecord
  }
}

/** Attributes of routes whose own checks run after this listener: a refusal takes precedence (RFC 9110, 13.2.1). */
const guarded = new WeakSet<CacheAttribute>()
const ofGuarded = new Skip('the checks of the route precede')
const noValidators = new Skip('the route declares neither etag nor lastModified')
const notKept = new Skip('caches only store responses to GET and HEAD')
const notTheRoutes = new Skip('the response is not the handler\'s')
const notForErrors = new Skip('error responses are not cached by the attribute')

const BROUGHT_CREDENTIALS = 'the request has credentials'
/** The statuses that the attribute applies to, as in the observed service; not to errors. */
const KEPT = [200, 203, 204, 206, 300, 301, 302, 304, 307, 308]
const WITH_VALIDATORS = [200, 203, 206, 304]

/**
 * Evaluates `If-None-Match` and `If-Modified-Since` (RFC 9110, section 13) by the validators that the route declares:
 * answers 304 before the handler runs.
 */
export const httpCache = listener('kernel.controller', 'http-cache', (app) => {
  app.addHook('onRoute', function checkRoute (route) {
    const { config: { cache, security, isGranted } = {} } = route
    if (cache === undefined) return
    const own = [route.preHandler ?? []].flat()
    checkCache(routeName(route), cache)
    if (security !== undefined || isGranted !== undefined || own.length > 0) guarded.add(cache)
    route.preHandler = [...own, reachHandler]
  })

  return (request, reply) => {
    const cache = attributesOf(request)?.cache
    if (cache === undefined) return notDeclared
    if (stateOf(request).failed) return ofDiagnosticHandler
    if (cache.etag === undefined && cache.lastModified === undefined) return noValidators
    if (!isRetrieval(request.method)) return notKept
    return guarded.has(cache) ? ofGuarded : decide(request, reply, cache)
  }
})

/** Answers with 304 where the client has the current representation. */
async function decide (
  request: FastifyRequest, reply: FastifyReply, cache: CacheAttribute
): Promise<Answer | undefined> {
  const validators = await declaredValidators(cache, request)
  const outcome = evaluate(request.headers, validators)
  const record = Object.assign(recordOf(request, reply), { outcome, validators })
  if (outcome !== 'fresh') return
  record.reached = true
  reply.code(304)
  // RFC 9110, section 15.4.5: the date is only useful without an entity tag.
  if (validators.etag === null) setValidators(reply, validators)
  else reply.header('etag', validators.etag).removeHeader('last-modified')
  return new Answer(undefined)
}

// Runs after the checks of the route itself: they have let the request pass.
async function reachHandler (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
  const cache = attributesOf(request)?.cache
  const isGuarded = cache !== undefined && guarded.has(cache) && isRetrieval(request.method)
  if (isGuarded && await decide(request, reply, cache) !== undefined) return reply.send()
  recordOf(request, reply).reached = true
}

/** Sets `Cache-Control`, `Expires`, `ETag`, `Last-Modified` and `Vary` as the attribute declares them. */
export const httpCacheResponse = listener('kernel.response', 'http-cache', () => (request, reply) => {
  const isTurned = stateOf(request).credentialsUsed === true && turnPrivate(request, reply)
  const skip = respond(request, reply)
  return isTurned ? undefined : skip
})

function respond (request: FastifyRequest, reply: FastifyReply): Skip | undefined {
  const cache = attributesOf(request)?.cache
  if (cache === undefined) return notDeclared
  if (stateOf(request).failed || reply.statusCode >= 400) return notForErrors
  if (!isRetrieval(request.method)) return notKept
  if (!recordOf(request, reply).reached) return notTheRoutes
  if (KEPT.includes(reply.statusCode)) apply(cache, request, reply)
}

// The handler may have set `Cache-Control` without regard to the user.
function turnPrivate (request: FastifyRequest, reply: FastifyReply): boolean {
  if (isPrivate(reply)) return false
  reply.header('cache-control', TURNED_PRIVATE)
  recordOf(request, reply).private = BROUGHT_CREDENTIALS
  return true
}

function apply (cache: CacheAttribute, request: FastifyRequest, reply: FastifyReply): void {
  const { expires, vary = [] } = cache
  const record = recordOf(request, reply)
  const isSilent = stateOf(request).defaultCacheControl === true || !reply.hasHeader('cache-control')
  const turned = isPublic(cache) && isSilent ? whyPrivate(request, reply) : null
  record.private ??= turned ?? (isPublic(cache) || !isSilent ? null : 'the route does not declare it public')
  if (isSilent) {
    const directives = turned === null ? cacheControl(cache) : TURNED_PRIVATE
    if (directives !== null) reply.header('cache-control', directives)
    if (turned === null && expires !== undefined) setIfAbsent(reply, 'expires', expiryOf(expires))
  }
  if (vary.length > 0) addVary(reply, vary.join(', '))
  if (record.validators !== null && WITH_VALIDATORS.includes(reply.statusCode)) {
    setValidators(reply, record.validators)
  }
}

// RFC 9111, section 3.5, and sessions, which caches cannot distinguish.
function whyPrivate (request: FastifyRequest, reply: FastifyReply): string | null {
  const { credentialsUsed, sessionTouched } = stateOf(request)
  const { cookiesOf, sessions } = servicesOf(request)
  if (sessionTouched) return 'the session was used'
  if (credentialsUsed) return BROUGHT_CREDENTIALS
  if (request.headers.authorization !== undefined) return 'the request has an Authorization header'
  // The handler, which did not run, might have used the session.
  if (reply.statusCode === 304 && sessions !== undefined && cookiesOf(request)[sessions.cookieName] !== undefined) {
    return 'the client has a session, and the handler was not called'
  }
  return null
}

function recordOf (request: FastifyRequest, reply: FastifyReply): CacheRecord {
  const state = stateOf(request)
  if (state.cache !== undefined) return state.cache
  const record: CacheRecord = { outcome: 'unconditional', validators: null, reached: false, private: null }
  state.cache = record
  state.collect('cache', () => {
    const { validators, reached, ...decision } = record
    const headers = state.sentHeaders ?? reply.getHeaders()
    return servicesOf(request).mask.value({
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
  const isDated = reply.statusCode !== 304 || !reply.hasHeader('etag')
  if (lastModified !== null && isDated) setIfAbsent(reply, 'last-modified', lastModified)
}

function isRetrieval (method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}
