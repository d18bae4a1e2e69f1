import { fastifyHelmet } from '@fastify/helmet'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { noncesOf, withNonce, withReportUri } from '../lib/http/content-policy.js'
import { isRedirect, onRedirect } from '../lib/http/responses.js'
import { listener, Skip } from '../lib/lifecycle/listener.js'
import { stateOf, type RequestState } from '../lib/lifecycle/request-state.js'

/** Directives as @fastify/helmet takes them: names in camel or kebab case, values as lists of source expressions. */
export type CspDirectives = Record<string, readonly string[] | string | null>

export interface ContentSecurityPolicyOptions {
  /**
   * The policies that responses carry (CSP3): `enforce` and `reportOnly`, either one or both; false for none.
   * Nonces that a response has drawn from `reply.cspNonce` are added to `script-src` and `style-src`.
   */
  contentSecurityPolicy?: false | {
    enforce?: CspDirectives | false
    reportOnly?: CspDirectives | false
    /** Whether documents report violations to their profiles, in debug mode; true by default. */
    report?: boolean
  }
}

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

const onNotModified = new Skip('a 304 leaves the policy of the stored page, whose nonces it has not drawn')
const kept = new Skip('the route has set a policy of its own')

/** Makes `reply.cspNonce` available, afresh for each request; no random byte is drawn until one is read. */
export const contentSecurityPolicy = listener('kernel.request', 'content-security-policy', (app) => {
  app.decorateReply('cspNonce', {
    getter (this: FastifyReply) {
      return noncesOf(stateOf(this.request))
    }
  })
  return (request) => {
    const state = stateOf(request)
    state.scriptNonce = state.styleNonce = ''
  }
})

/** Composes the policy of a response, with the nonces that were drawn for it. */
export const contentSecurityPolicyResponse = listener('kernel.response', 'content-security-policy',
  (app, { contentSecurityPolicy: given = { enforce: DEFAULT_DIRECTIVES } }: ContentSecurityPolicyOptions) => {
    // Who says something of reports only has the policy that there is by default.
    const contentSecurityPolicy = given !== false && Object.keys(given).join() === 'report' ? { ...given, enforce: DEFAULT_DIRECTIVES } : given
    const reports = app.hindsight.debug && contentSecurityPolicy !== false && contentSecurityPolicy.report !== false
    const policies = contentSecurityPolicy === false
      ? []
      : [
          policyHeader('content-security-policy', contentSecurityPolicy.enforce, 'enforce'),
          policyHeader('content-security-policy-report-only', contentSecurityPolicy.reportOnly, 'reportOnly')
        ].filter((policy) => policy !== null)
    if (policies.length === 0) return 'not configured'
    return (request, reply) => {
      if (stateOf(request).observed) collectPolicy(stateOf(request), policies.filter(({ name }) => reply.hasHeader(name)).map(({ name }) => name))
      if (isRedirect(reply)) return onRedirect
      if (reply.statusCode === 304) return onNotModified
      const { scriptNonce = '', styleNonce = '' } = stateOf(request)
      let set = false
      let ours: string[] | null = null
      for (const { name, constant, compose } of policies) {
        if (reply.hasHeader(name)) continue
        set = true
        if (reports) (ours ??= []).push(name)
        reply.header(name, scriptNonce === '' && styleNonce === '' ? constant : compose(scriptNonce, styleNonce))
      }
      if (ours !== null) reportTo(app, request, reply, ours)
      return set ? undefined : kept
    }
  })

// In debug mode alone, and for documents of browsers: a policy of the route stays as it is.
function reportTo (app: FastifyInstance, request: FastifyRequest, reply: FastifyReply, names: readonly string[]): void {
  if (stateOf(request).ownPolicy !== undefined || !/^text\/html\b/i.test(String(reply.getHeader('content-type') ?? ''))) return
  const uri = app.hindsight.cspReports?.uriOf(request) ?? null
  if (uri === null) return
  for (const name of names) reply.header(name, withReportUri(String(reply.getHeader(name)), uri))
}

const withoutNonces = { nonces: [] }

// The policies themselves are among the headers of the response.
function collectPolicy (state: RequestState, ofRoute: string[]): void {
  state.collect('csp', () => {
    const { ownPolicy, scriptNonce = '', styleNonce = '' } = state
    if (ofRoute.length === 0 && ownPolicy === undefined && scriptNonce === '' && styleNonce === '') return withoutNonces
    return {
      ...(ofRoute.length > 0 && { ofRoute }),
      ...(ownPolicy !== undefined && { ofDiagnosticPage: true }),
      nonces: [...(scriptNonce === '' ? [] : ['script-src']), ...(styleNonce === '' ? [] : ['style-src'])]
    }
  })
}

interface PolicyHeader {
  name: string
  constant: string
  compose: (scriptNonce: string, styleNonce: string) => string
}

function policyHeader (name: string, directives: CspDirectives | false | undefined, option: string): PolicyHeader | null {
  if (directives === undefined || directives === false || Object.keys(directives).length === 0) return null
  const constant = serialize(directives, option)
  const parts = constant.split(';')
  return {
    name,
    constant,
    compose: (scriptNonce, styleNonce) => withNonce(withNonce(parts, 'script-src', scriptNonce), 'style-src', styleNonce).join(';')
  }
}

// Helmet knows the grammar and refuses what is none; it is asked once, at registration.
function serialize (directives: CspDirectives, option: string): string {
  for (const [name, value] of Object.entries(directives)) {
    const isOne = value === null || value === undefined || typeof value === 'string' || (Array.isArray(value) && value.every((source) => typeof source === 'string'))
    if (!isOne) throw new Error(`contentSecurityPolicy.${option}.${name}: a string, a list of strings or null is needed`)
  }
  let value = ''
  const response = { setHeader: (_name: string, text: string) => { value = text } }
  // A policy without a default restricts what it names and nothing else (CSP3, section 6.1.3).
  const { dangerouslyDisableDefaultSrc } = fastifyHelmet.contentSecurityPolicy
  const withoutDefault = 'default-src' in directives || 'defaultSrc' in directives ? {} : { 'default-src': dangerouslyDisableDefaultSrc }
  try {
    const middleware = fastifyHelmet.contentSecurityPolicy({ useDefaults: false, directives: { ...withoutDefault, ...directives } as never })
    middleware({} as never, response as never, (error?: unknown) => { if (error) throw error })
  } catch (error) {
    throw new Error(`contentSecurityPolicy: ${(error as Error).message}`, { cause: error })
  }
  return value
}
