import type { IncomingMessage, ServerResponse } from 'node:http'
import { fastifyHelmet } from '@fastify/helmet'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  cspPart, isRedirect, noncesOf, type RequestTrace, traceOf, withNonce, withReportUri
} from 'fastify-hindsight/recorder'
import { defineListener, Skip, notOnRedirect } from '../lib/listener.js'

/** Directives as @fastify/helmet takes them: names in camel or kebab case, values as lists of source expressions. */
type CspDirectives = Record<string, readonly string[] | string | null>

export const DEFAULT_DIRECTIVES: CspDirectives = {
  'default-src': ["'self'"],
  'base-uri': ["'self'"],
  'form-action': ["'self'"],
  'frame-ancestors': ["'none'"],
  'img-src': ["'self'", 'data:'],
  'object-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'"]
}

const { contentSecurityPolicy: helmetPolicy } = fastifyHelmet
/** Destinations of requests for pages (Fetch Metadata, section 2.1). */
const DOCUMENTS = new Set(['document', 'iframe', 'frame'])
const notOn304 = new Skip('a 304 keeps the policy of the stored page, with different nonces')
const kept = new Skip('the route has set a policy of its own')

/** Makes `reply.cspNonce` available, with new nonces for each request; they are generated when they are first read. */
export const contentSecurityPolicy = defineListener('kernel.request', 'content-security-policy', (app) => {
  app.decorateReply('cspNonce', { getter (this: FastifyReply) { return noncesOf(traceOf(this.request)) } })
  if (app.hindsight.recorder === null) return 'a request begins without nonces'
  return (request) => {
    const state = traceOf(request)
    state.scriptNonce = state.styleNonce = ''
  }
})

/** Sets the policies of a response, with the nonces that it has used. */
export const contentSecurityPolicyResponse = defineListener('kernel.response', 'content-security-policy',
  (app, { contentSecurityPolicy: given = { report: true } }) => {
    if (given === false) return 'not configured'
    // The option `report` alone does not replace the default policy.
    const isDefault = Object.keys(given).join() === 'report'
    const enforced = isDefault ? DEFAULT_DIRECTIVES : given.enforce
    const policies = [...policyOf(false, enforced), ...policyOf(true, given.reportOnly)]
    const reports = app.hindsight.debug && given.report !== false
    if (policies.length === 0) return 'not configured'
    return (request, reply) => {
      const state = traceOf(request)
      if (state.isRecording) collectPolicy(state, policies.filter(({ header }) => reply.hasHeader(header)))
      if (isRedirect(reply)) return notOnRedirect
      if (reply.statusCode === 304) return notOn304
      const uri = reports && isDocument(request, reply) ? reportUri(app.hindsight, request) : null
      let skip: Skip | undefined = kept
      for (const { header, policy } of policies) {
        if (reply.hasHeader(header)) continue
        const value = withNonces(policy, state)
        reply.header(header, uri === null ? value : withReportUri(value, uri))
        skip = undefined
      }
      return skip
    }
  })

function withNonces (policy: string, { scriptNonce, styleNonce }: RequestTrace): string {
  if (scriptNonce === '' && styleNonce === '') return policy
  return withNonce(withNonce(policy.split(';'), 'script-src', scriptNonce), 'style-src', styleNonce).join(';')
}

// Browsers report violations of documents. A diagnostic page has a policy of its own.
function isDocument (request: FastifyRequest, reply: FastifyReply): boolean {
  return DOCUMENTS.has(String(request.headers['sec-fetch-dest'])) && traceOf(request).diagnosticPolicy === undefined &&
    /^text\/html\b/i.test(String(reply.getHeader('content-type') ?? ''))
}

type Hindsight = FastifyInstance['hindsight']

/** The address for reports about a page, of a route of the profiler; null without a profile. */
function reportUri (
  { base, mayReceiveDetails, originOf, recorder }: Hindsight, request: FastifyRequest
): string | null {
  if (!mayReceiveDetails(request)) return null
  const profile = recorder?.profileOf(traceOf(request)) ?? null
  return profile && `${originOf(request).prefix}${base}/_profiler/csp-report/${profile.token}`
}

// The profile has the values of the policies among the headers of the response.
function collectPolicy (state: RequestTrace, ofRoute: Array<{ header: string }>): void {
  state.collect(cspPart, () => ({
    ...(ofRoute.length > 0 && { ofRoute: ofRoute.map(({ header }) => header) }),
    ...(state.diagnosticPolicy !== undefined && { ofDiagnosticPage: true }),
    nonces: [state.scriptNonce && 'script-src', state.styleNonce && 'style-src'].filter(Boolean)
  }))
}

/** The header of an option and its value, as helmet makes it, or nothing. Throws for invalid directives. */
function policyOf (reportOnly: boolean, directives: CspDirectives | false | undefined) {
  if (directives === undefined || directives === false || Object.keys(directives).length === 0) return []
  // Without default-src, a policy restricts only what it names (CSP3, section 6.1.3); helmet requires that explicitly.
  const hasDefault = 'default-src' in directives || 'defaultSrc' in directives
  const all = { ...(!hasDefault && { 'default-src': helmetPolicy.dangerouslyDisableDefaultSrc }), ...directives }
  try {
    const middleware = helmetPolicy({ useDefaults: false, reportOnly, directives: all as never })
    let policy = ''
    const response = { setHeader (_name: string, value: string) { policy = value } }
    middleware({} as IncomingMessage, response as unknown as ServerResponse, () => {})
    return [{ header: `content-security-policy${reportOnly ? '-report-only' : ''}`, policy }]
  } catch (error) {
    throw new Error(`contentSecurityPolicy: ${(error as Error).message}`, { cause: error })
  }
}
