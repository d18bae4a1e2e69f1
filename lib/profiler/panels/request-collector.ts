import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { targetOf } from '../../http/request-target.js'
import { attributesOf } from '../../lifecycle/request-state.js'
import { stateOf } from '../../lifecycle/request-state.js'
import { binaryText, snapshot } from '../snapshot.js'
import { shownHeaders } from './headers-collector.js'

const MAX_USER_FIELDS = 50

/** Returns the function that records a request: method, URL, headers, query, cookies, body, attributes, user. */
export function requestCollector ({ hindsight }: FastifyInstance): (request: FastifyRequest) => void {
  return (request) => {
    const state = stateOf(request)
    // Copies: the handler may change what it receives.
    const { params, method, raw: { httpVersion } } = request
    const target = targetOf(request)
    const attributes = { ...attributesOf(request) }
    const headers = { ...request.headers }
    const query = { ...request.query as object }
    const cookies = Object.keys(hindsight.cookiesOf(request))
    const body = snapshot(request.body ?? null, {
      type: headers['content-type'],
      bytes: Number(headers['content-length']) || undefined,
      replace: partText
    })
    const unparsed = request.body === undefined || request.body === null ? parserError(state.raised) : null
    state.collect('request', () => {
      const user = hindsight.mode === 'observe' ? userRecord(request) : undefined
      const mask = hindsight.mask.hiding(state.sentParams ?? params)
      return {
        method,
        target: mask.url(target),
        httpVersion,
        headers: shownHeaders(headers, mask),
        query: mask.value(query),
        cookies: Object.fromEntries(cookies.map((name) => [mask.text(name), '******'])),
        body: mask.value(body.value),
        ...(unparsed !== null && { bodyNote: mask.text(unparsed) }),
        ...(body.cut > 0 && { bodyCut: body.cut }),
        attributes: mask.value(attributes),
        ...(user !== undefined && { user: mask.value(user) }),
        session: { used: state.sessionTouched === true }
      }
    })
  }
}

/** The plain values of the user that a plugin of the application has put on the request. No getter is called. */
function userRecord (request: FastifyRequest): unknown {
  const user: unknown = Object.getOwnPropertyDescriptor(request, 'user')?.value
  if (typeof user !== 'object' || user === null) return isScalar(user) ? user : undefined
  const fields = Object.entries(Object.getOwnPropertyDescriptors(user)).slice(0, MAX_USER_FIELDS)
    .filter(([, { value }]) => Array.isArray(value) ? value.every(isScalar) : isScalar(value))
  return snapshot(Object.fromEntries(fields.map(([name, { value }]) => [name, value as unknown]))).value
}

function isScalar (value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

// The parts that @fastify/multipart attaches to a body refer to each other: the value of a field, the name of a file.
function partText (value: object): unknown {
  if (!('fieldname' in value && 'mimetype' in value && 'encoding' in value)) return value
  const { file, filename, value: field } = value as { file?: unknown, filename?: unknown, value?: unknown }
  return file === undefined ? field : `[file ${typeof filename === 'string' ? filename : ''}]`
}

// The messages of Fastify's parsers do not contain the body.
function parserError (raised: unknown): string | null {
  const { code, message } = (raised ?? {}) as { code?: unknown, message?: unknown }
  return typeof code === 'string' && code.startsWith('FST_ERR_CTP_') ? `not parsed: ${String(message)}` : null
}

/** Returns the function that records a response: status, headers, content type and size. */
export function responseCollector (
  { hindsight }: FastifyInstance
): (request: FastifyRequest, reply: FastifyReply, payload: unknown) => void {
  return (request, reply, payload) => {
    const state = stateOf(request)
    const { params } = request
    const isBuffer = Buffer.isBuffer(payload)
    const size = typeof payload === 'string' ? Buffer.byteLength(payload) : isBuffer ? payload.length : null
    const stream = size === null ? binaryText(payload) : null
    state.collect('response', () => {
      const mask = hindsight.mask.hiding(state.sentParams ?? params)
      const headers = state.sentHeaders ?? reply.getHeaders() as Record<string, unknown>
      const type = String(headers['content-type'] ?? 'no type')
      const isBinary = isBuffer && !/^text\/|json|xml|javascript/i.test(type)
      const body = stream ?? (isBinary ? `[binary, ${size} bytes, ${type}]` : null)
      return {
        status: reply.statusCode,
        headers: shownHeaders(headers, mask),
        contentType: headers['content-type'] ?? null,
        // A later listener may have answered 304, which has no body.
        size: reply.statusCode === 304 ? null : size,
        ...(body !== null && { body })
      }
    })
  }
}
