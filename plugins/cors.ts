import fastifyCors, { type FastifyCorsOptions } from '@fastify/cors'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isDebugSurface } from '../lib/http/debug-surface.js'
import { host, runHooks, type CaughtHook } from '../lib/lifecycle/hosting.js'
import { Answer, listener, Skip } from '../lib/lifecycle/listener.js'
import { ruleFinder, type PathRule } from '../lib/http/path-rules.js'
import { isOwnOrigin } from '../lib/http/request-origin.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { corsVerdict, originsText, type CorsVerdict } from '../lib/profiler/panels/cors-collector.js'
import { shownHeaders } from '../lib/profiler/panels/headers-collector.js'

/** What a path under CORS allows (Fetch, section 3.3), as @fastify/cors takes it. */
export interface CorsRule extends PathRule, Pick<FastifyCorsOptions, 'origin' | 'credentials' | 'maxAge'> {
  methods?: string[]
  allowedHeaders?: string[]
  exposedHeaders?: string[]
}

export interface CorsOptions {
  /** The rules, by path; the first that matches decides. None: no CORS at all. */
  cors?: CorsRule[]
}

interface HostedRule extends PathRule {
  rule: CorsRule
  index: number
  hooks: CaughtHook[]
}

const DEFAULT_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
// `Vary` is the business of the cors-vary listener; and the package takes every OPTIONS request for a preflight.
const NOT_OF_ACTUAL: ReadonlySet<string> = new Set(['vary', 'access-control-allow-methods', 'access-control-allow-headers', 'access-control-max-age'])
/** Characters of `Access-Control-Request-Headers`. */
const MAX_REQUEST_HEADERS = 4_096
const noRule = new Skip('no CORS rule for this path')
const noOrigin = new Skip('the request has no Origin')
const sameOrigin = new Skip('same origin')
const ownOnly = new Skip('the profiler is for its own origin only')
const noPreflight = new Skip('not a preflight')
const preflighted = new Skip('answered as a preflight')

/** Answers preflights by the rule of the path, also where no route is. */
export const cors = listener('kernel.request', 'cors', async (app, { cors: rules = [] }: CorsOptions) => {
  if (rules.length === 0) return 'not configured'
  const ruleOf = ruleFinder(await hostRules(app, rules))
  const served = servesProfiler(app)
  return (request, reply) => {
    if (!isPreflight(request)) return noPreflight
    if (isDebugSurface(request, served)) return ownOnly
    const found = ruleOf(request)
    if (found === null) return noRule
    const refusal = preflightRefusal(found.rule, request)
    collectVerdict(app, request, reply, found, refusal?.message ?? null)
    const running = applied(found, request, reply, reply)
    const answer = (): Answer => {
      // Of no meaning on a preflight (Fetch, section 3.3.3).
      reply.removeHeader('access-control-expose-headers')
      // An empty answer, as browsers ignore its body; 200 as the observed service has it.
      reply.code(refusal?.status ?? 200).type('text/plain; charset=utf-8')
      return new Answer(refusal?.message ?? '')
    }
    return running === undefined ? answer() : running.then(answer)
  }
})

/** Sets the `Access-Control-*` headers of an actual request, on error responses too. */
export const corsResponse = listener('kernel.response', 'cors', async (app, { cors: rules = [] }: CorsOptions) => {
  if (rules.length === 0) return 'not configured'
  const ruleOf = ruleFinder(await hostRules(app, rules))
  const served = servesProfiler(app)
  return (request, reply) => {
    if (isDebugSurface(request, served)) return ownOnly
    if (isPreflight(request) && reply.hasHeader('access-control-allow-methods')) return preflighted
    const found = ruleOf(request)
    const { origin } = request.headers
    const own = origin !== undefined && isOwnOrigin(origin, app.hindsight.originOf(request))
    collectVerdict(app, request, reply, found, own ? sameOrigin.reason : null)
    if (found === null) return noRule
    if (origin === undefined) return noOrigin
    if (own) return sameOrigin
    return applied(found, request, reply, new ActualReply(reply))
  }
})

// In debug mode, and outside it to operators.
function servesProfiler (app: FastifyInstance): boolean {
  return app.hindsight.debug || (('profiler' in app.hindsight) && app.hindsight.profiler.role !== undefined)
}

// Two listeners share the rules of an application.
const hostedRules = new WeakMap<object, Promise<HostedRule[]>>()

function hostRules (app: FastifyInstance, rules: CorsRule[]): Promise<HostedRule[]> {
  const known = hostedRules.get(app.hindsight)
  if (known !== undefined) return known
  const hosting = hostAll(app, rules)
  hostedRules.set(app.hindsight, hosting)
  return hosting
}

async function hostAll (app: FastifyInstance, rules: CorsRule[]): Promise<HostedRule[]> {
  const hosted: HostedRule[] = []
  for (const [index, rule] of rules.entries()) {
    const { path, origin = false, methods = DEFAULT_METHODS, ...rest } = rule
    const options: FastifyCorsOptions = {
      ...rest,
      methods,
      // A list is compared exactly; a lone string would be sent to everybody.
      origin: typeof origin === 'string' && origin !== '*' ? [origin] : origin,
      preflightContinue: true,
      strictPreflight: false
    }
    const hooks = await host(app, fastifyCors as never, options, { name: 'hindsight/cors', withhold: ['corsPreflightEnabled'] })
    hosted.push({ rule, index, ...(path !== undefined && { path }), hooks: hooks.get('onRequest') ?? [] })
  }
  return hosted
}

// What the package sees of the reply to an actual request: what it says there of other matters is not heard.
class ActualReply {
  readonly #reply: FastifyReply

  constructor (reply: FastifyReply) {
    this.#reply = reply
  }

  getHeader (name: string): unknown {
    return this.#reply.getHeader(name)
  }

  header (name: string, value: string): this {
    if (!NOT_OF_ACTUAL.has(name.toLowerCase())) this.#reply.header(name, value)
    return this
  }
}

function applied (found: HostedRule, request: FastifyRequest, reply: FastifyReply, shown: FastifyReply | ActualReply): undefined | Promise<void> {
  const running = runHooks(found.hooks, request, shown)
  return running === undefined ? withholdCredentials(reply) : running.then(() => withholdCredentials(reply))
}

function collectVerdict ({ hindsight: { mask } }: FastifyInstance, request: FastifyRequest, reply: FastifyReply, found: HostedRule | null, reason: string | null): void {
  const state = stateOf(request)
  if (!state.observed) return
  const { origin = null, 'access-control-request-method': method, 'access-control-request-headers': headers } = request.headers
  const preflight = isPreflight(request)
  // Most requests have nothing to do with it.
  const isUnasked = origin === null && !preflight && reason === null
  state.collect('cors', () => isUnasked && !hasCorsHeaders(state.sentHeaders)
    ? unasked(found)
    : corsVerdict({
      rule: ruleShown(found),
      origin: origin === null ? null : mask.header('origin', origin),
      preflight,
      wanted: preflight ? { method: mask.text(String(method)), headers: mask.text(String(headers ?? '')) } : null,
      reason: reason === null ? null : mask.text(reason)
    }, shownHeaders(corsHeaders(state.sentHeaders ?? reply.getHeaders()), mask)))
}

function ruleShown (found: HostedRule | null): CorsVerdict['rule'] {
  if (found === null) return null
  const { index, rule: { path, origin, methods, credentials } } = found
  return { index, path: String(path ?? 'everywhere'), origin: originsText(origin), methods: methods ?? DEFAULT_METHODS, credentials: credentials === true }
}

const withoutRule = {}
const unaskedOfRules = new WeakMap<object, CorsVerdict>()

function unasked (found: HostedRule | null): CorsVerdict {
  let verdict = unaskedOfRules.get(found ?? withoutRule)
  if (verdict === undefined) {
    verdict = corsVerdict({ rule: ruleShown(found), origin: null, preflight: false, wanted: null, reason: null }, {})
    unaskedOfRules.set(found ?? withoutRule, verdict)
  }
  return verdict
}

function hasCorsHeaders (headers: Readonly<Record<string, unknown>> | undefined): boolean {
  for (const name in headers) if (name.startsWith('access-control-')) return true
  return headers === undefined
}

// Of all headers that went out, those that browsers decide by.
function corsHeaders (headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')))
}

// An origin that is not allowed learns nothing of credentials and exposed headers.
function withholdCredentials (reply: FastifyReply): undefined {
  if (reply.hasHeader('access-control-allow-origin')) return
  reply.removeHeader('access-control-allow-credentials')
  reply.removeHeader('access-control-expose-headers')
}

// Fetch, section 3.3.2: an OPTIONS request with an Origin and the method that is asked for.
function isPreflight ({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined
}

function preflightRefusal ({ methods = DEFAULT_METHODS, allowedHeaders }: CorsRule, { headers }: FastifyRequest): { status: number, message: string } | null {
  const method = String(headers['access-control-request-method']).toUpperCase()
  if (!methods.includes('*') && !methods.some((allowed) => allowed.toUpperCase() === method)) {
    return { status: 405, message: `CORS: the method ${method} is not allowed here; allowed are ${methods.join(', ')}.` }
  }
  if (allowedHeaders === undefined || allowedHeaders.includes('*')) return null
  const allowed = new Set(allowedHeaders.map((name) => name.toLowerCase()))
  const names = headers['access-control-request-headers'] ?? ''
  if (names.length > MAX_REQUEST_HEADERS) {
    return { status: 400, message: `CORS: Access-Control-Request-Headers has more than ${MAX_REQUEST_HEADERS} characters.` }
  }
  const wanted = names.split(',').map((name) => name.trim().toLowerCase())
  const refused = wanted.find((name) => name !== '' && !allowed.has(name) && !SAFE_HEADERS.has(name))
  return refused === undefined ? null : { status: 400, message: `CORS: the header ${refused} is not allowed here; allowed are ${allowedHeaders.join(', ')}.` }
}

// Fetch, section 2.2.2: headers that need no permission.
const SAFE_HEADERS = new Set(['accept', 'accept-language', 'content-language', 'origin'])
