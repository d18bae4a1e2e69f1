import type { FastifyReply, FastifyRequest } from 'fastify'
import { MethodNotAllowedError } from '../http/http-errors.js'
import { recordingOf } from '../lifecycle/state.js'
import { cut, grouped, visibleLine } from '../view/text.js'
import { handlerFrame } from './declared-place.js'
import { maskOf } from './masked-exceptions.js'
import { placeOf } from './stack-frame.js'
import { read } from './thrown-value.js'

/** Why a request was refused, or which part of the response a browser rejects. */
export interface Refusal {
  kind: 'credentials' | 'access' | 'method' | 'size' | 'type' | 'rate' | 'cors' | 'csp' | 'cookie'
  /** One sentence for people. */
  sentence: string
  /** The option of Hindsight, Fastify or the route that decides. */
  option: string
}

/** How access to a request was decided: what the firewall collects in debug mode, with its secrets masked. */
interface AccessRecord {
  firewall: { name: string } | null
  authenticators: ReadonlyArray<{ name: string, outcome: string, reason?: string }>
  user: { identifier: string } | null
  roles: readonly string[]
  inheritedRoles: readonly string[]
  rule: { index: number, path: string, roles: readonly string[], granted: boolean } | null
  expression: { expression: string, result: boolean, error?: string } | null
  decisions: ReadonlyArray<Decision & { by: string }>
}

/** A decision of the voters in the profile. */
export interface Decision {
  attribute: string
  subject: string | null
  granted: boolean
  votes: ReadonlyArray<{ voter: string, vote: 'granted' | 'denied', reason: string }>
}

const REFUSED: ReadonlySet<number> = new Set([401, 403, 405, 413, 415, 429])
/** The votes about roles and authentication. */
const BUILT_IN: ReadonlySet<string> = new Set(['role', 'authenticated'])

/**
 * Why a request was refused; null where it was not, where the response is about another failure, and where other code
 * decided: the sentence about the failure has its place.
 */
export function refusalOf (request: FastifyRequest, reply: FastifyReply | null, status: number): Refusal | null {
  const { failure, raised, raisedBy, routeError } = recordingOf(request)
  // A hook of a not-found handler may have refused the request.
  if (routeError instanceof MethodNotAllowedError && failure === null) {
    return wrongMethod(request, routeError.headers.allow)
  }
  // The error of an error handler has not decided the status.
  if (!REFUSED.has(status) || failure?.after === 'failure') return null
  const { security: recorded } = recordingOf(request).collected
  const security = typeof recorded === 'function' ? recorded() as AccessRecord : null
  const code = read(raised, 'code')
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const limit = request.routeOptions.bodyLimit ?? Number(request.server.initialConfig.bodyLimit)
    const what = `The body is larger than the bodyLimit here, ${grouped(limit)} bytes, or than that of its parser`
    return byOption('size', what, 'bodyLimit of Fastify, of addContentTypeParser or of the route')
  }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    const type = maskedLine(request, request.headers['content-type'] ?? '')
    const ofType = type === '' ? 'without a Content-Type' : `of the type "${type}"`
    const sentence = `No parser accepts a body ${ofType} here: addContentTypeParser() of Fastify adds one.`
    return { kind: 'type', sentence, option: 'addContentTypeParser of Fastify' }
  }
  if (status === 405 && raisedBy?.listener === 'router') return wrongMethod(request, reply?.getHeader('allow'))
  if (code === 'HINDSIGHT_TOO_MANY_LOGIN_ATTEMPTS') {
    const what = 'Too many logins have failed for this user, or from this address'
    return byOption('rate', what, `security.firewalls["${security?.firewall?.name ?? '…'}"].throttling`)
  }
  return bySecurity(request, status, security)
}

/** A refusal by an option of Hindsight, of Fastify or of a route; `what` is the beginning of its sentence. */
function byOption (kind: Refusal['kind'], what: string, option: string): Refusal {
  return { kind, sentence: `${what}: the option ${option} decides.`, option }
}

function wrongMethod (request: FastifyRequest, allowed: unknown): Refusal {
  const allow = maskedLine(request, String(allowed ?? 'others'))
  const what = `No route accepts ${request.method} at this path: its routes accept ${allow}`
  return byOption('method', what, 'method of the route')
}

/** The rule of the option `security` that refused the request; null where none did. */
function bySecurity (request: FastifyRequest, status: number, record: AccessRecord | null): Refusal | null {
  const code = read(recordingOf(request).raised, 'code')
  if (record === null) return null
  const name = record.firewall?.name ?? ''
  const options = `security.firewalls["${name}"]`
  if (code === 'HINDSIGHT_INVALID_CSRF_TOKEN') {
    const isLogout = request.routeOptions.config?.name?.startsWith('_logout_') === true
    const option = `${options}.${isLogout ? 'logout.csrf' : 'authenticators.login.csrf'}`
    return byOption('access', 'The request has no CSRF token of its session', option)
  }
  if (code !== 'HINDSIGHT_AUTHENTICATION' && code !== 'HINDSIGHT_ACCESS_DENIED') return null
  const failed = record.authenticators.find(({ outcome }) => outcome === 'failed')
  if (failed !== undefined && status === 401 && record.user === null) {
    const what = `The authenticator ${failed.name} of the firewall "${name}" refused the credentials ` +
      `(${failed.reason ?? 'no reason is known'})`
    return byOption('credentials', what, `${options}.authenticators`)
  }
  const denial = denialOf(request, record)
  if (denial === null) return null
  const kind = status === 401 ? 'credentials' : 'access'
  // A subject of a vote may have a path parameter.
  return byOption(kind, maskOf(request).redact(`${denial.what}, and ${userOf(record, name)}`), denial.option)
}

/** What a decision denies, and which voters did: "may not DELETE Article 2: voter article: the author is grace". */
export function denialText ({ attribute, subject, votes }: Decision): string {
  if (votes.length === 1 && votes[0]?.voter === 'role') return `does not have the role ${attribute}`
  const reasons = votes.map(({ voter, reason }) => `voter ${voter}: ${reason}`)
  return `may not ${attribute}${subject === null ? '' : ` ${subject}`}: ${reasons.join('; ')}`
}

/** The rule or vote that denied access, and the option that decides; null if none did. */
function denialOf (
  request: FastifyRequest, { rule, expression, decisions, user }: AccessRecord
): { what: string, option: string } | null {
  if (rule !== null && !rule.granted) {
    const needed = rule.roles.length === 0 ? 'grants no access' : `requires ${rule.roles.join(' or ')}`
    const what = `Rule ${rule.index} of security.accessControl (path ${rule.path}) ${needed}`
    return { what, option: `security.accessControl[${rule.index}].roles` }
  }
  const { config, url = '' } = request.routeOptions
  const route = `of the route ${config?.name ?? `${request.method} ${url}`}`
  if (expression !== null && !expression.result) {
    const failed = expression.error === undefined ? 'is false' : `failed (${expression.error})`
    const what = `The expression "${expression.expression}" ${route} ${failed}`
    return { what, option: 'config.security of the route' }
  }
  const denied = decisions.findLast(({ granted }) => !granted)
  if (denied === undefined) return null
  const { by, attribute, subject } = denied
  const votes = denied.votes.filter(({ vote }) => vote === 'denied').map(({ voter, reason }) => `${voter}: ${reason}`)
  const isOfRoute = by === 'is-granted'
  const option = isOfRoute ? 'config.isGranted of the route' : 'security.voters'
  if (user !== null && denied.votes.some(({ voter }) => !BUILT_IN.has(voter))) {
    const frame = handlerFrame(request)
    const place = frame === null ? '' : ` (${placeOf(frame)})`
    return { what: `${user.identifier} ${denialText(denied)}${place}`, option }
  }
  const needed = isOfRoute ? `config.isGranted ${route}` : by
  const what = `${attribute}${subject === null ? '' : ` of ${subject}`}, which ${needed} requires, was denied ` +
    `(${votes.join('; ') || 'no voter granted it'})`
  return { what, option }
}

function userOf ({ user, roles, inheritedRoles, authenticators }: AccessRecord, firewall: string): string {
  if (user !== null) {
    return `${user.identifier} is logged in with ${[...roles, ...inheritedRoles].join(', ') || 'no role'}`
  }
  const names = authenticators.map(({ name }) => name).join(', ') || 'it has no authenticators'
  return `no user is logged in: the request has no credentials that the firewall "${firewall}" reads (${names})`
}

export function maskedLine (request: FastifyRequest, text: string): string {
  return cut(visibleLine(maskOf(request).text(text)), 200)
}
