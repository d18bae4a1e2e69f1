import type { FastifyRequest } from 'fastify'
import { stateOf } from '../lifecycle/request-state.js'
import type { SecurityRecord } from '../security/context.js'
import type { Refusal } from './report.js'
import { read } from './thrown-value.js'

/** Which rule of the security option refused a request with 401 or 403; null where it was none of them. */
export function accessRefusal (request: FastifyRequest, status: number, record: SecurityRecord | null): Refusal | null {
  const kind = status === 401 ? 'credentials' : 'access'
  const { raised } = stateOf(request)
  const code = read(raised, 'code')
  // An error handler of a scope may have answered what was raised there.
  const isAnswered = code === undefined && ofLoginRoute(request)
  if (code === 'HINDSIGHT_INVALID_CSRF_TOKEN' || (isAnswered && status === 403)) return csrf(request, record)
  if (code !== 'HINDSIGHT_AUTHENTICATION' && code !== 'HINDSIGHT_ACCESS_DENIED' && !isAnswered) return null
  if (record === null) return null
  const failed = record.authenticators.find(({ outcome }) => outcome === 'failed')
  const firewall = `the firewall "${record.firewall?.name ?? ''}"`
  if (failed !== undefined && kind === 'credentials' && record.user === null) {
    const own = ['basic', 'bearer', 'login'].includes(failed.name) ? failed.name : 'custom'
    const option = `security.firewalls["${record.firewall?.name ?? ''}"].authenticators.${own}`
    return { kind, sentence: `The authenticator ${failed.name} of ${firewall} refused the credentials (${failed.reason ?? 'no reason is known'}): the option ${option} and its provider of users decide.`, rule: `${failed.name} of ${firewall}`, option }
  }
  const found = asked(request, record)
  if (found === null) return null
  return { kind, sentence: `${found.what}, and ${whoever(record, firewall)}: the option ${found.option} decides.`, rule: found.rule, option: found.option }
}

/** Whether a request was for a route that a firewall has made. */
export function ofLoginRoute ({ routeOptions: { config } }: FastifyRequest): boolean {
  return /^_log(?:in|out)_/.test(config?.name ?? '')
}

function asked (request: FastifyRequest, { rule, expression, decisions }: SecurityRecord): { what: string, rule: string, option: string } | null {
  if (rule !== null && !rule.granted) {
    const option = `security.accessControl[${rule.index}].roles`
    const needed = rule.roles.length === 0 ? 'nobody' : rule.roles.join(' or ')
    return { what: `Rule ${rule.index} of security.accessControl (path ${rule.path}) lets pass ${rule.roles.length === 0 ? needed : `who has ${needed}`}`, rule: `security.accessControl[${rule.index}]`, option }
  }
  const { config, url = '' } = request.routeOptions
  const route = `of the route ${config?.name ?? `${request.method} ${url}`}`
  if (expression !== null && !expression.result) {
    const failed = expression.error === undefined ? 'is false' : `failed (${expression.error})`
    return { what: `The expression "${expression.expression}" ${route} ${failed}`, rule: `config.security ${route}`, option: 'config.security of the route' }
  }
  const denied = decisions.findLast(({ granted }) => !granted)
  if (denied === undefined) return null
  const why = denied.votes.filter(({ vote }) => vote === 'denied').map(({ voter, reason }) => reason === '' ? voter : `${voter}: ${reason}`).join('; ')
  const option = denied.by === 'is-granted' ? 'config.isGranted of the route' : 'security.voters'
  return {
    what: `${denied.attribute}${denied.subject === null ? '' : ` of ${denied.subject}`}, which ${denied.by === 'is-granted' ? `config.isGranted ${route}` : denied.by} asks for, was denied (${why === '' ? 'no voter granted it' : why}, counted as ${denied.strategy})`,
    rule: `${denied.by}: ${denied.attribute}`,
    option
  }
}

function whoever ({ user, roles, inheritedRoles, authenticators }: SecurityRecord, firewall: string): string {
  if (user !== null) return `${user.identifier} is logged in with ${[...roles, ...inheritedRoles].join(', ') || 'no role'}`
  const lost = authenticators.find(({ name, outcome, reason }) => name === 'session' && reason !== undefined && outcome !== 'succeeded')
  const known = authenticators.map(({ name }) => name).join(', ')
  if (known === '') return 'nobody is logged in, as no firewall of this path could recognise anybody'
  return `nobody is logged in: the request brought no credentials that ${firewall} reads (${known}${lost === undefined ? '' : `; session: ${String(lost.reason)}`})`
}

function csrf (request: FastifyRequest, record: SecurityRecord | null): Refusal {
  const name = record?.firewall?.name ?? ''
  const isLogout = request.routeOptions.config?.name?.startsWith('_logout_') === true
  const option = `security.firewalls["${name}"].${isLogout ? 'logout' : 'authenticators.login'}.csrf`
  return {
    kind: 'access',
    sentence: `The ${isLogout ? 'logout' : 'login'} brought no CSRF token that was made for its session (a form that is older than the session, or a request without the session's cookie): the option ${option} decides.`,
    rule: 'the CSRF token',
    option
  }
}
