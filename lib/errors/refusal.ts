import type { FastifyReply, FastifyRequest } from 'fastify'
import { MethodNotAllowedError } from '../http/http-errors.js'
import { stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import type { SecurityRecord } from '../security/record.js'
import { cut, visibleLine } from '../view/visible.js'
import type { StackFrame } from './exception.js'
import { accessRefusal, ofLoginRoute } from './refusal-access.js'
import type { Refusal } from './report.js'
import { isInternal, packageOf } from './stack-frame.js'
import { messageOf, read } from './thrown-value.js'

const REFUSED = new Set([401, 403, 405, 413, 415, 429])
const MULTIPART: Readonly<Record<string, string>> = {
  FST_REQ_FILE_TOO_LARGE: 'limits.fileSize', FST_FILES_LIMIT: 'limits.files', FST_FIELDS_LIMIT: 'limits.fields', FST_PARTS_LIMIT: 'limits.parts'
}
const KIND: Readonly<Record<number, Refusal['kind']>> = { 401: 'credentials', 403: 'access', 405: 'method', 413: 'size', 415: 'type', 429: 'rate' }

const DEFAULT_BODY_LIMIT = 1_048_576
/** Fastify can be asked for the parser of one type, not for all parsers. */
const COMMON_TYPES = [
  'application/json', 'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data',
  'application/xml', 'text/xml', 'application/octet-stream'
]

/** Why a request was refused, in one sentence; null where it was not, or where its answer tells of another failure. */
export function refusalOf (request: FastifyRequest, reply: FastifyReply | null, status: number, record: SecurityRecord | null): Refusal | null {
  const { raised, raisedBy, missed } = stateOf(request)
  // Fastify says of a method that it knows no route.
  if (missed instanceof MethodNotAllowedError) return wrongMethod(request, missed.headers.allow)
  if (!REFUSED.has(status)) return null
  const code = read(raised, 'code')
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return tooLarge(request)
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return unreadable(request)
  if (typeof code === 'string' && Object.hasOwn(MULTIPART, code)) {
    const option = `${String(MULTIPART[code])} of @fastify/multipart`
    return { kind: 'size', sentence: `@fastify/multipart refused the form (${messageOf(raised)}): its option ${String(MULTIPART[code])} decides.`, rule: code, option }
  }
  if (status === 405 && raisedBy?.listener === 'router') return wrongMethod(request, reply?.getHeader('allow'))
  if (status === 429) return tooMany(request, reply, record)
  return accessRefusal(request, status, record) ?? byOthers(request, status)
}

function tooLarge (request: FastifyRequest): Refusal {
  const ofServer = Number(request.server.initialConfig.bodyLimit ?? DEFAULT_BODY_LIMIT)
  const limit = request.routeOptions.bodyLimit ?? ofServer
  const bytes = `${limit.toLocaleString('en')} bytes`
  const length = Number(request.headers['content-length'])
  // A body that is not longer was decoded before it was measured, or its parser has a smaller limit.
  const isLonger = Number.isSafeInteger(length) && length > limit
  const body = isLonger ? `The body of ${length.toLocaleString('en')} bytes` : 'The body'
  if (limit !== ofServer) {
    const option = 'bodyLimit of the route'
    const sentence = `${body} is larger than the ${bytes} that the ${option} allows: the option ${option} decides.`
    return { kind: 'size', sentence, rule: `the ${option}`, option }
  }
  // Fastify does not expose the limit of a parser.
  const option = 'bodyLimit of Fastify, of addContentTypeParser or of the route'
  const limits = `the bodyLimit of the server is ${bytes}, and the parser of its type may have its own`
  const rule = 'the bodyLimit of the server or of the parser'
  return { kind: 'size', sentence: `${body} is too large: ${limits}; the option ${option} decides.`, rule, option }
}

function unreadable (request: FastifyRequest): Refusal {
  const type = shown(request, request.headers['content-type'] ?? '')
  const known = COMMON_TYPES.filter((one) => request.server.hasContentTypeParser(one))
  const others = known.length === 0 ? '' : ` (of the common types, these have a parser: ${known.join(', ')})`
  const decides = 'app.addContentTypeParser, or a plugin that calls it, decides'
  return {
    kind: 'type',
    sentence: `Nothing reads a body of the type "${type}" here${others}: ${decides}.`,
    rule: 'the content type parsers of the route\'s scope',
    option: 'addContentTypeParser of Fastify'
  }
}

function wrongMethod (request: FastifyRequest, allowed: unknown): Refusal {
  const allow = shown(request, String(allowed ?? 'others'))
  return {
    kind: 'method',
    sentence: `No route takes ${request.method} at this path: those that are there take ${allow}; the method that a route is declared with decides.`,
    rule: `the routes of the path take ${allow}`,
    option: 'method of the route'
  }
}

function tooMany (request: FastifyRequest, reply: FastifyReply | null, record: SecurityRecord | null): Refusal {
  const { raised } = stateOf(request)
  const after = reply?.getHeader('retry-after')
  const again = after === undefined ? '' : ` It may be tried again in ${shown(request, String(after))} s.`
  const code = read(raised, 'code')
  if (code === 'HINDSIGHT_TOO_MANY_LOGIN_ATTEMPTS' || (code === undefined && ofLoginRoute(request))) {
    const option = `security.firewalls["${record?.firewall?.name ?? '…'}"].throttling`
    return { kind: 'rate', sentence: `Too many logins have failed for this user, or from this address: the option ${option} (maxAttempts in interval) decides.${again}`, rule: 'the throttling of logins', option }
  }
  const limit = reply?.getHeader('x-ratelimit-limit') ?? reply?.getHeader('ratelimit-limit')
  if (limit !== undefined && request.server.hasPlugin('@fastify/rate-limit')) {
    const option = 'max and timeWindow of @fastify/rate-limit, or of the route\'s config.rateLimit'
    return { kind: 'rate', sentence: `@fastify/rate-limit lets ${shown(request, String(limit))} requests pass in its time window, and this was one more: ${option} decide.${again}`, rule: '@fastify/rate-limit', option }
  }
  const other = byOthers(request, 429)
  return { ...other, sentence: other.sentence + again }
}

/** A refusal by code other than Hindsight's rules, with the place of that code. */
function byOthers (request: FastifyRequest, status: number): Refusal {
  const kind = KIND[status] ?? 'access'
  const state = stateOf(request)
  const exception = state.exceptions?.at(-1)
  if (!state.failed || exception === undefined) {
    const route = request.routeOptions.config?.url === undefined ? 'The application' : `The handler of ${request.method} ${request.routeOptions.config.url}, or a hook before it,`
    return { kind, sentence: `${route} answered with ${status} by itself: no option of Hindsight decides.`, rule: 'the answer of the application', option: null }
  }
  const { by, package: name, source } = originOf(exception.frames)
  const who = by === 'package' ? `the package ${String(name)}` : by === 'application' ? 'your code' : by === 'fastify' ? 'Fastify' : by === 'hindsight' ? 'Hindsight' : 'Node.js'
  const place = source === undefined ? '' : ` at ${source}`
  const what = cut(visibleLine(servicesOf(request).mask.text(exception.message)), 300)
  return {
    kind,
    sentence: `${status} was raised by ${who}${place} (${exception.name}${exception.code === undefined ? '' : `, ${exception.code}`}: ${what}): ${by === 'package' ? 'the options of that package decide' : 'no option of Hindsight decides'}.`,
    rule: `raised by ${who}`,
    option: by === 'package' ? `the options of ${String(name)}` : null
  }
}

function shown (request: FastifyRequest, text: string): string {
  const { mask } = servicesOf(request)
  return cut(visibleLine(mask.text(text)), 200)
}

interface ErrorOrigin {
  by: 'application' | 'package' | 'fastify' | 'node' | 'hindsight'
  /** Of a dependency: its name. */
  package?: string
  /** `file:line`; of an error that a package raised in a call of the application, that call's. */
  source?: string
}

const FASTIFY: ReadonlySet<string> = new Set(['fastify', 'light-my-request'])
const MAX_SOURCE = 500

/** The code that raised an error, from its frames. Only the calls up to the first one of Fastify or Node.js count: what is further out has only led to them. */
function originOf (frames: readonly StackFrame[]): ErrorOrigin {
  const owned = frames.map((frame) => ({ frame, ...ownerOf(frame) }))
  const begin = owned.findIndex(({ by }) => by !== 'fastify' && by !== 'node')
  if (begin === -1) return { by: owned[0]?.by ?? 'node' }
  const end = owned.findIndex(({ by }, i) => i > begin && (by === 'fastify' || by === 'node'))
  const calls = owned.slice(begin, end === -1 ? undefined : end)
  const raiser = calls.find(({ by }) => by !== 'hindsight') ?? calls[0]
  const { frame } = calls.find(({ by }) => by === 'application') ?? raiser ?? { frame: undefined }
  return {
    by: raiser?.by ?? 'node',
    ...(raiser?.package !== undefined && { package: raiser.package }),
    ...(frame !== undefined && { source: `${frame.file.slice(-MAX_SOURCE)}:${frame.line}` })
  }
}

function ownerOf ({ file }: StackFrame): Pick<ErrorOrigin, 'by' | 'package'> {
  if (file === '' || file.startsWith('node:')) return { by: 'node' }
  if (isInternal(file)) return { by: 'hindsight' }
  const name = packageOf(file)
  if (name === null) return { by: 'application' }
  return FASTIFY.has(name) ? { by: 'fastify' } : { by: 'package', package: name }
}
