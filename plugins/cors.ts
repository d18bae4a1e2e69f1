import fastifyCors, { type FastifyCorsOptions } from '@fastify/cors'
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  corsPart, corsVerdict, isPreflight, isProfilerPath, isSameOrigin, originsText, pathnameOf, routeConfigOf, ruleFinder,
  traceOf
} from 'fastify-hindsight/recorder'
import type { CorsRule } from '../lib/options.js'
import { stateOf } from '../lib/state.js'
import { collectHooks, runHooks } from '../lib/hosting.js'
import { Answer, listenerPair, Skip, type HookResult } from '../lib/listener.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True: the CORS rules do not apply to the route. */
    sameOriginOnly?: boolean
  }
}

const DEFAULT_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
const noRule = new Skip('no CORS rule for this path')
const noOrigin = new Skip('the request has no Origin')
const sameOrigin = new Skip('same origin')
const profilerOnly = new Skip('the profiler allows its own origin only')
const noPreflight = new Skip('not a preflight')
const preflighted = new Skip('answered as a preflight')

const pair = listenerPair('kernel.response', 'cors', async (app, { cors: rules = [] }) => {
  if (rules.length === 0) return 'not configured'
  const { originOf } = app.hindsight
  const ruleOf = ruleFinder(rules)
  const delegator = (request: FastifyRequest, done: (error: null, options: FastifyCorsOptions) => void): void => {
    done(null, packageOptions(ruleOf(request) as CorsRule, isPreflight(request)))
  }
  const { onRequest = [] } = await collectHooks(
    app, fastifyCors as never, { delegator }, { name: 'hindsight/cors', ignoredDecorators: ['corsPreflightEnabled'] })

  async function setHeaders (request: FastifyRequest, reply: FastifyReply): Promise<undefined> {
    const vary = reply.getHeader('vary')
    await runHooks(onRequest, request, reply)
    // The listener cors-vary decides about actual requests.
    if (!isPreflight(request)) {
      if (vary === undefined) reply.removeHeader('vary')
      else reply.header('vary', vary)
    }
    // An origin that is not allowed receives no other header either.
    if (reply.hasHeader('access-control-allow-origin')) return
    reply.removeHeader('access-control-allow-credentials')
    reply.removeHeader('access-control-expose-headers')
  }

  function answerPreflight (request: FastifyRequest, reply: FastifyReply): HookResult | Promise<HookResult> {
    if (!isPreflight(request)) return noPreflight
    if (isProfiler(request)) return profilerOnly
    const rule = ruleOf(request)
    if (rule === null) return noRule
    const refusal = preflightRefusal(rule, request)
    const reason = refusal?.reason ?? null
    if (traceOf(request).isRecording) collectVerdict(request, reply, rules, rule, reason)
    return setHeaders(request, reply).then(() => {
      // Meaningless on a preflight (Fetch, section 3.3.3).
      reply.removeHeader('access-control-expose-headers')
      // RFC 9110, section 15.5.6.
      if (refusal?.status === 405) reply.header('allow', (rule.methods ?? DEFAULT_METHODS).join(', '))
      // Browsers ignore the body. The observed service answers 200.
      reply.code(refusal?.status ?? 200).type('text/plain; charset=utf-8')
      return new Answer(reason ?? '')
    })
  }

  function respond (request: FastifyRequest, reply: FastifyReply): HookResult | Promise<HookResult> {
    const { origin } = request.headers
    // Without an origin no header is set in any case: only a profile needs the reason.
    const { isRecording } = traceOf(request)
    const needsReason = origin !== undefined || isRecording
    if (needsReason && isProfiler(request)) return profilerOnly
    if (isPreflight(request) && reply.hasHeader('access-control-allow-methods')) return preflighted
    const rule = ruleOf(request)
    const isSame = origin !== undefined && isSameOrigin(origin, originOf(request))
    if (isRecording) collectVerdict(request, reply, rules, rule, isSame ? sameOrigin.reason : null)
    if (rule === null) return noRule
    if (origin === undefined) return noOrigin
    if (isSame) return sameOrigin
    return setHeaders(request, reply)
  }
  return [answerPreflight, respond]
})

/** Answers preflights by the rule of the path, also where no route matches. */
export const cors = pair[0]

/** Sets the `Access-Control-*` headers of an actual request, also on error responses. */
export const corsResponse = pair[1]

// Preflights of the profiler's pages match no route.
function isProfiler (request: FastifyRequest): boolean {
  return routeConfigOf(request)?.sameOriginOnly === true || (request.is404 && isProfilerPath(pathnameOf(request)))
}

function packageOptions (rule: CorsRule, preflight: boolean): FastifyCorsOptions {
  const { path, origin = false, methods = DEFAULT_METHODS, ...rest } = rule
  // @fastify/cors compares a list, but sends a single string to every origin.
  const origins = typeof origin === 'string' && origin !== '*' ? [origin] : origin
  return { ...rest, methods, origin: origins, preflight, preflightContinue: true, strictPreflight: false }
}

function collectVerdict (
  request: FastifyRequest, reply: FastifyReply, rules: CorsRule[], rule: CorsRule | null, reason: string | null
): void {
  const state = stateOf(request)
  const { mask } = traceOf(request).services
  const {
    origin = null, 'access-control-request-method': method, 'access-control-request-headers': headers = ''
  } = request.headers
  const preflight = isPreflight(request)
  state.trace.collect(corsPart, () => corsVerdict({
    rule: rule && {
      index: rules.indexOf(rule),
      path: String(rule.path ?? 'everywhere'),
      origin: originsText(rule.origin),
      methods: rule.methods ?? DEFAULT_METHODS,
      credentials: rule.credentials === true
    },
    origin: origin === null ? null : mask.header('origin', origin),
    preflight,
    wanted: preflight ? { method: mask.text(String(method)), headers: mask.text(headers) } : null,
    reason: reason === null ? null : mask.text(reason)
  }, state.recording.sending.headers, mask))
}

/** Why a rule does not allow what a preflight requests; null where it does. */
function preflightRefusal (
  { methods = DEFAULT_METHODS, allowedHeaders }: CorsRule, { headers }: FastifyRequest
): { status: 400 | 405, reason: string } | null {
  const method = String(headers['access-control-request-method']).toUpperCase()
  if (!methods.includes('*') && !methods.some((allowed) => allowed.toUpperCase() === method)) {
    return { status: 405, reason: `CORS: the method ${method} is not allowed here; allowed are ${methods.join(', ')}.` }
  }
  if (allowedHeaders === undefined || allowedHeaders.includes('*')) return null
  const { 'access-control-request-headers': names = '' } = headers
  const allowed = new Set(['', ...allowedHeaders.map((name) => name.toLowerCase())])
  const refused = names.split(',').map((name) => name.trim().toLowerCase()).find((name) => !allowed.has(name))
  if (refused === undefined) return null
  return {
    status: 400, reason: `CORS: the header ${refused} is not allowed here; allowed are ${allowedHeaders.join(', ')}.`
  }
}
