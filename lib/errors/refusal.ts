import { isAbsolute } from 'node:path'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { MethodNotAllowedError } from '../http/http-errors.js'
import { stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import type { SecurityRecord } from '../security/context.js'
import { grouped } from '../view/counted.js'
import { cut, visibleLine } from '../view/visible.js'
import { isInternal, packageOf, placeOf } from './stack-frame.js'
import { read } from './thrown-value.js'

/** Why a request was refused, or which part of the response a browser rejects: the rule, and the option behind it. */
export interface Refusal {
  kind: 'credentials' | 'access' | 'method' | 'size' | 'type' | 'rate' | 'cors' | 'csp' | 'cookie'
  /** One sentence for people. */
  sentence: string
  /** What decided, in a few words. */
  rule: string
  /** The option that decides; null where it is neither one of Hindsight nor of Fastify. */
  option: string | null
}

const KINDS: Readonly<Record<number, Refusal['kind']>> = {
  401: 'credentials', 403: 'access', 405: 'method', 413: 'size', 415: 'type', 429: 'rate'
}
const PLATFORM: ReadonlySet<string> = new Set(['fastify', 'light-my-request'])

/** Why a request was refused; null where it was not, or where the response is about another failure. */
export function refusalOf (
  request: FastifyRequest, reply: FastifyReply | null, status: number, security: SecurityRecord | null
): Refusal | null {
  const { raised, raisedBy, missed } = stateOf(request)
  if (missed instanceof MethodNotAllowedError) return wrongMethod(request, missed.headers.allow)
  const kind = KINDS[status]
  if (kind === undefined) return null
  const code = read(raised, 'code')
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return tooLarge(request)
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return unsupportedType(request)
  if (status === 405 && raisedBy?.listener === 'router') return wrongMethod(request, reply?.getHeader('allow'))
  if (status === 429) return tooMany(request, reply, security)
  return bySecurity(request, status, security) ?? byOtherCode(request, status, kind)
}

/** A refusal by an option of Hindsight, of Fastify or of a route; `what` is the beginning of its sentence. */
function byOption (kind: Refusal['kind'], what: string, rule: string, option: string): Refusal {
  return { kind, sentence: `${what}: the option ${option} decides.`, rule, option }
}

function tooLarge (request: FastifyRequest): Refusal {
  const limit = request.routeOptions.bodyLimit ?? Number(request.server.initialConfig.bodyLimit)
  const what = `The body is larger than the bodyLimit here, ${grouped(limit)} bytes, or than that of its parser`
  return byOption('size', what, 'the bodyLimit', 'bodyLimit of Fastify, of addContentTypeParser or of the route')
}

function unsupportedType (request: FastifyRequest): Refusal {
  const type = shown(request, request.headers['content-type'] ?? '')
  const what = `No parser accepts a body of the type "${type}" here`
  return byOption('type', what, 'the content type parsers of the route\'s scope', 'addContentTypeParser of Fastify')
}

function wrongMethod (request: FastifyRequest, allowed: unknown): Refusal {
  const allow = shown(request, String(allowed ?? 'others'))
  const what = `No route accepts ${request.method} at this path: its routes accept ${allow}`
  return byOption('method', what, `the routes of the path accept ${allow}`, 'method of the route')
}

function tooMany (request: FastifyRequest, reply: FastifyReply | null, security: SecurityRecord | null): Refusal {
  const isLogin = read(stateOf(request).raised, 'code') === 'HINDSIGHT_TOO_MANY_LOGIN_ATTEMPTS'
  const what = 'Too many logins have failed for this user, or from this address'
  const option = `security.firewalls["${security?.firewall?.name ?? '…'}"].throttling`
  const refusal = isLogin
    ? byOption('rate', what, 'the throttling of logins', option)
    : byOtherCode(request, 429, 'rate')
  const seconds = reply?.getHeader('retry-after')
  if (seconds === undefined) return refusal
  return { ...refusal, sentence: `${refusal.sentence} It may be tried again in ${shown(request, String(seconds))} s.` }
}

/** The rule of the option `security` that refused the request; null where none did. */
function bySecurity (request: FastifyRequest, status: number, record: SecurityRecord | null): Refusal | null {
  const code = read(stateOf(request).raised, 'code')
  if (record === null) return null
  const name = record.firewall?.name ?? ''
  const options = `security.firewalls["${name}"]`
  if (code === 'HINDSIGHT_INVALID_CSRF_TOKEN') {
    const isLogout = request.routeOptions.config?.name?.startsWith('_logout_') === true
    const option = `${options}.${isLogout ? 'logout.csrf' : 'authenticators.login.csrf'}`
    return byOption('access', 'The request has no CSRF token of its session', 'the CSRF token', option)
  }
  if (code !== 'HINDSIGHT_AUTHENTICATION' && code !== 'HINDSIGHT_ACCESS_DENIED') return null
  const firewall = `the firewall "${name}"`
  const failed = record.authenticators.find(({ outcome }) => outcome === 'failed')
  if (failed !== undefined && status === 401 && record.user === null) {
    const what = `The authenticator ${failed.name} of ${firewall} refused the credentials ` +
      `(${failed.reason ?? 'no reason is known'})`
    return byOption('credentials', what, `${failed.name} of ${firewall}`, `${options}.authenticators`)
  }
  const denial = denialOf(request, record)
  if (denial === null) return null
  const { what, rule, option } = denial
  return byOption(status === 401 ? 'credentials' : 'access', `${what}, and ${userOf(record, firewall)}`, rule, option)
}

interface Denial { what: string, rule: string, option: string }

function denialOf (request: FastifyRequest, { rule, expression, decisions }: SecurityRecord): Denial | null {
  if (rule !== null && !rule.granted) {
    const name = `security.accessControl[${rule.index}]`
    const needed = rule.roles.length === 0 ? 'lets no request pass' : `requires ${rule.roles.join(' or ')}`
    const what = `Rule ${rule.index} of security.accessControl (path ${rule.path}) ${needed}`
    return { what, rule: name, option: `${name}.roles` }
  }
  const { config, url = '' } = request.routeOptions
  const route = `of the route ${config?.name ?? `${request.method} ${url}`}`
  if (expression !== null && !expression.result) {
    const failed = expression.error === undefined ? 'is false' : `failed (${expression.error})`
    const what = `The expression "${expression.expression}" ${route} ${failed}`
    return { what, rule: `config.security ${route}`, option: 'config.security of the route' }
  }
  const denied = decisions.findLast(({ granted }) => !granted)
  if (denied === undefined) return null
  const { by, attribute, subject } = denied
  const votes = denied.votes.filter(({ vote }) => vote === 'denied')
    .map(({ voter, reason }) => `${voter}: ${reason}`)
  const needed = by === 'is-granted' ? `config.isGranted ${route}` : by
  const what = `${attribute}${subject === null ? '' : ` of ${subject}`}, which ${needed} requires, was denied`
  return {
    what: `${what} (${votes.join('; ') || 'no voter granted it'})`,
    rule: `${by}: ${attribute}`,
    option: by === 'is-granted' ? 'config.isGranted of the route' : 'security.voters'
  }
}

function userOf ({ user, roles, inheritedRoles, authenticators }: SecurityRecord, firewall: string): string {
  if (user !== null) {
    return `${user.identifier} is logged in with ${[...roles, ...inheritedRoles].join(', ') || 'no role'}`
  }
  const names = authenticators.map(({ name }) => name).join(', ')
  if (names === '') return 'no user is logged in, as no firewall of this path has an authenticator'
  return `no user is logged in: the request has no credentials that ${firewall} reads (${names})`
}

/** A refusal that no rule of Hindsight made, with the code that raised or sent it. */
function byOtherCode (request: FastifyRequest, status: number, kind: Refusal['kind']): Refusal {
  const state = stateOf(request)
  const exception = state.exceptions?.at(-1)
  if (!state.failed || exception === undefined) {
    const { url } = request.routeOptions
    const route = url === undefined ? '' : ` (a handler or hook of ${request.method} ${url})`
    const sentence = `The application${route} answered with ${status} by itself: no option of Hindsight decides.`
    return { kind, sentence, rule: 'the response of the application', option: null }
  }
  const { name, message, frames } = exception
  // The code that raised it: that of the first frame outside Node.js, Fastify and Hindsight.
  const frame = frames.find(({ file }) =>
    isAbsolute(file) && !isInternal(file) && !PLATFORM.has(packageOf(file) ?? ''))
  const packageName = frame === undefined ? null : packageOf(frame.file)
  const code = frame === undefined ? 'the framework' : 'your code'
  const raiser = packageName === null ? code : `the package ${packageName}`
  const own = frames.find(({ own }) => own) ?? frame
  const place = own === undefined ? '' : ` at ${placeOf(own)}`
  const decides = packageName === null ? 'no option of Hindsight decides' : 'the options of that package decide'
  const sentence = `${status} was raised by ${raiser}${place} (${name}: ${shown(request, message)}): ${decides}.`
  const option = packageName === null ? null : `the options of ${packageName}`
  return { kind, sentence, rule: `raised by ${raiser}`, option }
}

function shown (request: FastifyRequest, text: string): string {
  return cut(visibleLine(servicesOf(request).mask.text(text)), 200)
}
