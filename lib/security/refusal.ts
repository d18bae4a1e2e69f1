import {
  byOption, handlerFrame, placeOf, readProperty as read, type Refusal, type RequestTrace
} from 'fastify-hindsight/recorder'
import { security } from '../parts/security.js'

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

/** The votes about roles and authentication. */
const BUILT_IN: ReadonlySet<string> = new Set(['role', 'authenticated'])

/** Why the firewall, a rule, an expression or a voter refused a request; null where none did. */
export function refusalOf (trace: RequestTrace, status: number): Refusal | null {
  const { recording } = trace
  const record = recording.get(security)?.() as AccessRecord | undefined ?? null
  if (read(recording.raised, 'code') === 'HINDSIGHT_TOO_MANY_LOGIN_ATTEMPTS') {
    const what = 'Too many logins have failed for this user, or from this address'
    return byOption('rate', what, `security.firewalls["${record?.firewall?.name ?? '…'}"].throttling`)
  }
  return bySecurity(trace, status, record)
}

/** The rule of the option `security` that refused the request; null where none did. */
function bySecurity (trace: RequestTrace, status: number, record: AccessRecord | null): Refusal | null {
  const { request, mask, recording } = trace
  const code = read(recording.raised, 'code')
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
  const denial = denialOf(trace, record)
  if (denial === null) return null
  const kind = status === 401 ? 'credentials' : 'access'
  // A subject of a vote may have a path parameter.
  return byOption(kind, mask.redact(`${denial.what}, and ${userOf(record, name)}`), denial.option)
}

/** What a decision denies, and which voters did: "may not DELETE Article 2: voter article: the author is grace". */
export function denialText ({ attribute, subject, votes }: Decision): string {
  if (votes.length === 1 && votes[0]?.voter === 'role') return `does not have the role ${attribute}`
  const reasons = votes.map(({ voter, reason }) => `voter ${voter}: ${reason}`)
  return `may not ${attribute}${subject === null ? '' : ` ${subject}`}: ${reasons.join('; ')}`
}

/** The rule or vote that denied access, and the option that decides; null if none did. */
function denialOf (
  trace: RequestTrace, { rule, expression, decisions, user }: AccessRecord
): { what: string, option: string } | null {
  if (rule !== null && !rule.granted) {
    const needed = rule.roles.length === 0 ? 'grants no access' : `requires ${rule.roles.join(' or ')}`
    const what = `Rule ${rule.index} of security.accessControl (path ${rule.path}) ${needed}`
    return { what, option: `security.accessControl[${rule.index}].roles` }
  }
  const { request } = trace
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
    const frame = handlerFrame(trace)
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
