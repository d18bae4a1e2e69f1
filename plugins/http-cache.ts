import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import vary from 'vary'
import { evaluate, isConditional, isRetrieval, validatorsOf, type Evaluation, type Validators } from '../lib/http/conditional.js'
import { PreconditionFailedError } from '../lib/http/http-errors.js'
import { Answer, listener, Skip } from '../lib/lifecycle/listener.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { discard, dropContent } from '../lib/http/responses.js'
import { servicesOf } from '../lib/lifecycle/services.js'
import { attributesOf, notDeclared, ofDiagnosticHandler, type CacheAttribute } from '../lib/routing/attributes.js'
import { cachePolicy, TURNED_PRIVATE, type CachePolicy } from '../lib/routing/cache-policy.js'
import { routeName } from '../lib/routing/route-table.js'

/** What is known of one request's caching; the profile shows it. */
interface CacheRecord extends Evaluation {
  validators: Validators | null
  /** Whether the answer waits until the route's own security has let the request through. */
  deferred: boolean
  /** Why a response is for its client alone. */
  private: string | null
}

declare module '../lib/lifecycle/request-state.js' {
  interface RequestState {
    /** What was found out about the preconditions of the request. */
    cache?: CacheRecord
  }
}

const policies = new WeakMap<CacheAttribute, CachePolicy>()
// RFC 9110, section 13.2.1: a refusal takes precedence over a precondition, and here who may refuse is asked behind this listener.
const guarded = new WeakSet<CacheAttribute>()
// Requests that came as far as the handler, or to a 304 in its place: the attribute is about nobody else's answer.
const letThrough = new WeakSet<FastifyRequest>()
const noValidators = new Skip('the route declares neither etag nor lastModified')
const unconditional = new Skip('the request has no precondition')
const noRepresentation = new Skip('the method is about no representation')
const notKept = new Skip('only what GET and HEAD retrieve is kept by caches')
const notTheRoutes = new Skip('the answer is not the handler\'s')
const notForErrors = new Skip('error responses are not cached by the attribute')

const BROUGHT_CREDENTIALS = 'the request brought credentials'
// Without a list of header names behind it, `private` is about the whole response (RFC 9111, section 5.2.2.7).
const EXCLUDES_OTHERS = /(?:^|,)\s*(?:no-store|private)\s*(?:,|$)/i

// RFC 9110, section 13.2.1.
const IGNORING = new Set(['CONNECT', 'OPTIONS', 'TRACE'])
// What caches may keep by such a header, as the observed service's framework has them, errors excepted.
const KEPT = new Set([200, 203, 204, 206, 300, 301, 302, 304, 307, 308])
const WITH_VALIDATORS = new Set([200, 203, 206, 304])

/**
 * Evaluates the preconditions of a request (RFC 9110, section 13) by the validators that the route declares:
 * answers 304, or raises 412, before the handler runs.
 */
export const httpCache = listener('kernel.controller', 'http-cache', (app) => {
  app.addHook('onRoute', function compilePolicy (route) {
    const { config: { cache, security, isGranted } = {}, preHandler = [] } = route
    if (cache === undefined) return
    // The HEAD companion of a GET route declares the same object once more.
    if (!policies.has(cache)) policies.set(cache, cachePolicy(routeName(route), cache))
    const own = typeof preHandler === 'function' ? [preHandler] : preHandler
    if (security !== undefined || isGranted !== undefined || own.length > 0) guarded.add(cache)
    route.preHandler = [...own, answerDeferred]
  })

  return (request, reply) => {
    const cache = attributesOf(request)?.cache
    if (cache === undefined) return notDeclared
    const state = stateOf(request)
    if (state.failed) return ofDiagnosticHandler
    const { validators: find } = policies.get(cache) as CachePolicy
    if (find === null) return noValidators
    if (IGNORING.has(request.method)) return noRepresentation
    if (!isRetrieval(request.method) && !isConditional(request.headers)) return unconditional
    const found = find(request)
    return found instanceof Promise ? found.then(decide) : decide(found)

    function decide (validators: Validators): Answer | undefined {
      const record = recordOf(app, request, reply)
      record.validators = validators
      Object.assign(record, evaluate(request.method, request.headers, validators))
      record.deferred = guarded.has(cache as CacheAttribute) && record.outcome !== 'stale' && record.outcome !== 'unconditional'
      if (record.deferred) return
      if (record.outcome === 'failed') throw preconditionFailed(request, record)
      if (record.outcome !== 'fresh') return
      letThrough.add(request)
      return new Answer(notModified(reply, validators))
    }
  }
})

/** Sets `Cache-Control`, `Expires`, `ETag`, `Last-Modified` and `Vary`, and answers 304 by what the handler itself has set. */
export const httpCacheResponse = listener('kernel.response', 'http-cache', (app, { session }: { session?: false | { cookieName?: string } }) => {
  const sessionCookie = session === false ? '' : session?.cookieName ?? 'sessionId'

  return (request, reply, payload) => {
    const cache = attributesOf(request)?.cache
    const { failed, credentialsUsed } = stateOf(request)
    const turned = credentialsUsed === true && turnPrivate(request, reply)
    const result = respond(cache, failed, request, reply, payload)
    return turned && result instanceof Skip ? undefined : result
  }

  function respond (cache: CacheAttribute | undefined, failed: boolean, request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
    if (failed || reply.statusCode >= 400) return cache === undefined ? notDeclared : notForErrors
    if (!isRetrieval(request.method)) return cache === undefined ? notDeclared : notKept
    if (cache !== undefined && !letThrough.has(request)) return notTheRoutes
    if (cache !== undefined && KEPT.has(reply.statusCode)) apply(policies.get(cache) as CachePolicy, request, reply)
    if (reply.statusCode !== 200 || !isConditional(request.headers)) return cache === undefined ? notDeclared : undefined
    const validators = validatorsOf(reply.getHeader('etag'), reply.getHeader('last-modified'))
    const evaluation = evaluate(request.method, request.headers, validators)
    if (evaluation.precondition === null) return cache === undefined ? notDeclared : undefined
    const record = Object.assign(recordOf(app, request, reply), evaluation, { validators })
    if (evaluation.outcome === 'failed') {
      discard(payload)
      throw preconditionFailed(request, record)
    }
    if (evaluation.outcome !== 'fresh') return
    notModified(reply, validators)
    return dropContent(reply, payload)
  }

  // What the handler itself has said of caches does not know who asked.
  function turnPrivate (request: FastifyRequest, reply: FastifyReply): boolean {
    const control = [reply.getHeader('cache-control') ?? []].flat().join(', ')
    const { defaultCacheControl } = stateOf(request)
    if ((defaultCacheControl && control === '') || EXCLUDES_OTHERS.test(control)) return false
    reply.header('cache-control', TURNED_PRIVATE)
    recordOf(app, request, reply).private = BROUGHT_CREDENTIALS
    return true
  }

  function apply (policy: CachePolicy, request: FastifyRequest, reply: FastifyReply): void {
    const record = recordOf(app, request, reply)
    const silent = stateOf(request).defaultCacheControl === true || !reply.hasHeader('cache-control')
    const turned = policy.isPublic && silent ? whyPrivate(request, reply) : null
    record.private ??= turned ?? (policy.isPublic || !silent ? null : 'the route does not declare it public')
    const directives = turned === null ? policy.directives : policy.privateDirectives
    if (silent && directives !== null) reply.header('cache-control', directives)
    if (silent && turned === null && policy.expires !== null && !reply.hasHeader('expires')) reply.header('expires', policy.expires())
    if (policy.vary !== '') reply.header('vary', vary.append(String(reply.getHeader('vary') ?? ''), policy.vary))
    if (record.validators !== null && WITH_VALIDATORS.has(reply.statusCode)) setValidators(reply, record.validators)
  }

  // RFC 9111, section 3.5; and sessions, whose contents no cache can tell apart.
  function whyPrivate (request: FastifyRequest, reply: FastifyReply): string | null {
    const { credentialsUsed, sessionTouched } = stateOf(request)
    if (sessionTouched) return 'the session was used'
    if (credentialsUsed) return BROUGHT_CREDENTIALS
    if (request.headers.authorization !== undefined) return 'the request has an Authorization header'
    // Nobody knows what the handler would have made of the session.
    if (reply.statusCode === 304 && servicesOf(request).cookiesOf(request)[sessionCookie] !== undefined) return 'the client has a session, and the handler was not asked'
    return null
  }
})

// Behind the security of the route itself: the request was let through.
function answerDeferred (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
  letThrough.add(request)
  const record = stateOf(request).cache
  if (record?.deferred !== true || record.validators === null) return done()
  if (record.outcome === 'failed') return done(preconditionFailed(request, record))
  reply.send(notModified(reply, record.validators))
}

function recordOf (app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): CacheRecord {
  const state = stateOf(request)
  if (state.cache !== undefined) return state.cache
  const record: CacheRecord = { outcome: 'unconditional', precondition: null, validators: null, deferred: false, private: null }
  state.cache = record
  if (state.observed) {
    state.collect('cache', () => {
      const { validators, ...decision } = record
      const { etag = null, lastModified = null } = validators ?? {}
      const headers = state.sentHeaders ?? reply.getHeaders()
      return app.hindsight.mask.value({
        ...decision,
        etag,
        lastModified: lastModified === null ? null : new Date(lastModified).toUTCString(),
        cacheControl: headers['cache-control'] ?? null,
        expires: headers.expires ?? null,
        vary: headers.vary ?? null
      })
    })
  }
  return record
}

function notModified (reply: FastifyReply, validators: Validators): undefined {
  reply.code(304)
  // RFC 9110, section 15.4.5: the date is of use where there is no entity tag.
  if (validators.etag === null) setValidators(reply, validators)
  else reply.header('etag', validators.etag).removeHeader('last-modified')
}

function setValidators (reply: FastifyReply, { etag, lastModified }: Validators): void {
  if (etag !== null && !reply.hasHeader('etag')) reply.header('etag', etag)
  const dated = reply.statusCode !== 304 || !reply.hasHeader('etag')
  if (lastModified !== null && dated && !reply.hasHeader('last-modified')) reply.header('last-modified', new Date(lastModified).toUTCString())
}

function preconditionFailed ({ headers }: FastifyRequest, { precondition, validators }: CacheRecord): PreconditionFailedError {
  const name = precondition as string
  const { etag = null, lastModified = null } = validators ?? {}
  const current = name === 'If-Unmodified-Since' && lastModified !== null
    ? `the resource was changed at ${new Date(lastModified).toUTCString()}`
    : etag === null ? 'the resource has no entity tag' : `the current entity tag is ${etag}`
  return new PreconditionFailedError(`The precondition "${name}: ${headers[name.toLowerCase()] as string}" failed: ${current}.`)
}
