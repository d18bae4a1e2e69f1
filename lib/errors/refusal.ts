import { isAbsolute } from 'node:path'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { MethodNotAllowedError } from '../http/http-errors.js'
import { stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import type { SecurityRecord } from '../security/context.js'
import { grouped } from '../view/counted.js'
import { cut, visibleLine } from '../view/visible.js'
import type { StackFrame } from './exception.js'
import type { Refusal } from './report.js'
import { isInternal, packageOf } from './stack-frame.js'
import { read } from './thrown-value.js'

const KINDS: Readonly<Record<number, Refusal['kind']>> = {
  401: 'credentials', 403: 'access', 405: 'method', 413: 'size', 415: 'type', 429: 'rate'
}
const DEFAULT_BODY_LIMIT = 1_048_576
/** Characters of a file's path. */
const MAX_SOURCE = 500
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
  const ofServer = Number(request.server.initialConfig.bodyLimit ?? DEFAULT_BODY_LIMIT)
  const limit = request.routeOptions.bodyLimit ?? ofServer
  const bytes = `${grouped(limit)} bytes`
  const length = Number(request.headers['content-length'])
  // A shorter body was decoded before it was measured, or its parser has a smaller limit.
  const body = length > limit ? `The body of ${grouped(length)} bytes` : 'The body'
  if (limit !== ofServer) {
    const option = 'bodyLimit of the route'
    return byOption('size', `${body} is larger than the ${bytes} that the ${option} allows`, `the ${option}`, option)
  }
  // Fastify does not expose the limit of a parser.
  const option = 'bodyLimit of Fastify, of addContentTypeParser or of the route'
  const limits = `the bodyLimit of the server is ${bytes}, and the parser of its type may have its own`
  const sentence = `${body} is too large: ${limits}; the option ${option} decides.`
  return { kind: 'size', sentence, rule: 'the bodyLimit of the server or of the parser', option }
}

function unsupportedType (request: FastifyRequest): Refusal {
  const type = shown(request, request.headers['content-type'] ?? '')
  const decides = 'app.addContentTypeParser, or a plugin that calls it, decides'
  const sentence = `No parser accepts a body of the type "${type}" here: ${decides}.`
  const option = 'addContentTypeParser of Fastify'
  return { kind: 'type', sentence, rule: 'the content type parsers of the route\'s scope', option }
}

function wrongMethod (request: FastifyRequest, allowed: unknown): Refusal {
  const allow = shown(request, String(allowed ?? 'others'))
  const sentence = `No route accepts ${request.method} at this path: its routes accept ${allow}; ` +
    'the method of the route decides.'
  return { kind: 'method', sentence, rule: `the routes of the path accept ${allow}`, option: 'method of the route' }
}

function tooMany (request: FastifyRequest, reply: FastifyReply | null, security: SecurityRecord | null): Refusal {
  const refusal = loginLimit(request, security) ?? byOtherCode(request, 429, 'rate')
  const seconds = reply?.getHeader('retry-after')
  if (seconds === undefined) return refusal
  return { ...refusal, sentence: `${refusal.sentence} It may be tried again in ${shown(request, String(seconds))} s.` }
}

function loginLimit (request: FastifyRequest, security: SecurityRecord | null): Refusal | null {
  const code = read(stateOf(request).raised, 'code')
  if (code !== 'HINDSIGHT_TOO_MANY_LOGIN_ATTEMPTS' && (code !== undefined || !isLoginRoute(request))) return null
  const option = `security.firewalls["${security?.firewall?.name ?? '…'}"].throttling`
  const logins = 'Too many logins have failed for this user, or from this address'
  const sentence = `${logins}: the option ${option} (maxAttempts in interval) decides.`
  return { kind: 'rate', sentence, rule: 'the throttling of logins', option }
}

/** The rule of the option `security` that refused the request; null where none did. */
function bySecurity (request: FastifyRequest, status: number, record: SecurityRecord | null): Refusal | null {
  const code = read(stateOf(request).raised, 'code')
  // An error handler of a scope may have answered the error of a login route.
  const isAnswered = code === undefined && isLoginRoute(request)
  if (code === 'HINDSIGHT_INVALID_CSRF_TOKEN' || (isAnswered && status === 403)) return byCsrf(request, record)
  const isOurs = code === 'HINDSIGHT_AUTHENTICATION' || code === 'HINDSIGHT_ACCESS_DENIED' || isAnswered
  if (!isOurs || record === null) return null
  const name = record.firewall?.name ?? ''
  const firewall = `the firewall "${name}"`
  const failed = record.authenticators.find(({ outcome }) => outcome === 'failed')
  if (failed !== undefined && status === 401 && record.user === null) {
    const own = ['basic', 'bearer', 'login'].includes(failed.name) ? failed.name : 'custom'
    const option = `security.firewalls["${name}"].authenticators.${own}`
    const sentence = `The authenticator ${failed.name} of ${firewall} refused the credentials ` +
      `(${failed.reason ?? 'no reason is known'}): the option ${option} and its provider of users decide.`
    return { kind: 'credentials', sentence, rule: `${failed.name} of ${firewall}`, option }
  }
  const denial = denialOf(request, record)
  if (denial === null) return null
  const { what, rule, option } = denial
  return byOption(status === 401 ? 'credentials' : 'access', `${what}, and ${userOf(record, firewall)}`, rule, option)
}

function byCsrf (request: FastifyRequest, record: SecurityRecord | null): Refusal {
  const isLogout = request.routeOptions.config?.name?.startsWith('_logout_') === true
  const option = `security.firewalls["${record?.firewall?.name ?? ''}"].` +
    (isLogout ? 'logout.csrf' : 'authenticators.login.csrf')
  const what = `The ${isLogout ? 'logout' : 'login'} has no CSRF token of its session ` +
    '(a form that is older than the session, or a request without the session\'s cookie)'
  return byOption('access', what, 'the CSRF token', option)
}

/** Whether the route is one that a firewall made. */
function isLoginRoute ({ routeOptions: { config } }: FastifyRequest): boolean {
  return /^_log(?:in|out)_/.test(config?.name ?? '')
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
    .map(({ voter, reason }) => reason === '' ? voter : `${voter}: ${reason}`)
  const why = votes.join('; ') || 'no voter granted it'
  const needed = by === 'is-granted' ? `config.isGranted ${route}` : by
  return {
    what: `${attribute}${subject === null ? '' : ` of ${subject}`}, which ${needed} requires, was denied (${why})`,
    rule: `${by}: ${attribute}`,
    option: by === 'is-granted' ? 'config.isGranted of the route' : 'security.voters'
  }
}

function userOf ({ user, roles, inheritedRoles, authenticators }: SecurityRecord, firewall: string): string {
  if (user !== null) {
    return `${user.identifier} is logged in with ${[...roles, ...inheritedRoles].join(', ') || 'no role'}`
  }
  const session = authenticators.find(({ name, outcome, reason }) =>
    name === 'session' && reason !== undefined && outcome !== 'succeeded')
  const names = authenticators.map(({ name }) => name).join(', ')
  if (names === '') return 'no user is logged in, as no firewall of this path has an authenticator'
  const lost = session === undefined ? '' : `; session: ${String(session.reason)}`
  return `no user is logged in: the request has no credentials that ${firewall} reads (${names}${lost})`
}

/** A refusal that no rule of Hindsight made, with the code that raised or sent it. */
function byOtherCode (request: FastifyRequest, status: number, kind: Refusal['kind']): Refusal {
  const state = stateOf(request)
  const exception = state.exceptions?.at(-1)
  if (!state.failed || exception === undefined) {
    const { url } = request.routeOptions.config ?? {}
    const route = `The handler of ${request.method} ${url ?? ''}, or a hook before it,`
    const sender = url === undefined ? 'The application' : route
    const sentence = `${sender} answered with ${status} by itself: no option of Hindsight decides.`
    return { kind, sentence, rule: 'the response of the application', option: null }
  }
  const { name, code, message, frames } = exception
  const { raiser, packageName, raisedAt } = raiserOf(frames)
  const frame = frames.find(({ own }) => own) ?? raisedAt
  const place = frame === undefined ? '' : ` at ${frame.file.slice(-MAX_SOURCE)}:${frame.line}`
  const text = cut(visibleLine(servicesOf(request).mask.text(message)), 300)
  const error = `${name}${code === undefined ? '' : `, ${code}`}: ${text}`
  const decides = packageName === null ? 'no option of Hindsight decides' : 'the options of that package decide'
  const sentence = `${status} was raised by ${raiser}${place} (${error}): ${decides}.`
  const option = packageName === null ? null : `the options of ${packageName}`
  return { kind, sentence, rule: `raised by ${raiser}`, option }
}

interface Raiser { raiser: string, packageName: string | null, raisedAt?: StackFrame }

/** The code that raised an error: that of the first frame outside Node.js, Fastify and Hindsight. */
function raiserOf (frames: readonly StackFrame[]): Raiser {
  const raisedAt = frames.find(({ file }) =>
    isAbsolute(file) && !isInternal(file) && !PLATFORM.has(packageOf(file) ?? ''))
  if (raisedAt === undefined) {
    return { raiser: isInternal(frames[0]?.file ?? '') ? 'Hindsight' : 'Fastify', packageName: null }
  }
  const packageName = packageOf(raisedAt.file)
  return { raiser: packageName === null ? 'your code' : `the package ${packageName}`, packageName, raisedAt }
}

function shown (request: FastifyRequest, text: string): string {
  return cut(visibleLine(servicesOf(request).mask.text(text)), 200)
}
