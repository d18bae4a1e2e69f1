import { isUtf8 } from 'node:buffer'
import type { TLSSocket } from 'node:tls'
import { isDeepStrictEqual } from 'node:util'
import type { FastifyRequest } from 'fastify'
import { isInjection } from 'light-my-request'
import { parsedJson } from '../../call.js'
import { isSentByFastify } from '../../errors/declared-place.js'
import { sourceOfCaller } from '../../errors/stack-frame.js'
import { codeOf, messageOf } from '../../errors/thrown-value.js'
import { targetOf } from '../../http/requests.js'
import { isResponse } from '../../http/responses.js'
import { attributesOf, type RequestTrace } from '../../recording/trace.js'
import type { Recording } from '../../recording/recording.js'
import type { Mask } from '../../mask/mask.js'
import { formatInteger, safeJson } from '../../view/text.js'
import { binaryText, handlerName, snapshotOf } from '../collect.js'
import { shownHeaders } from '../events/index.js'
import { definePart } from '../part.js'
import type { Data } from '../read.js'

/** Keeps what makes the data of a request. */
export const received = definePart<() => Data>({ name: 'request', receive: recordRequest })

/** Keeps what makes the data of a response, and the user when it began: the application may change it later. */
export const sent = definePart<{ user: unknown, make: () => Data }>({
  name: 'response',
  ofRequests: true,
  respond: recordResponse,
  data: ({ make }) => make()
})

const MAX_USER_FIELDS = 50
/** In place of a body. */
export const DIAGNOSTIC_PAGE = '[the diagnostic page]'

/** Records a request: method, URL, headers, query, cookies, body, attributes, user. */
function recordRequest (trace: RequestTrace): void {
  const { request, recording } = trace
  // Copies: the handler may change what it receives.
  const { method, raw: { httpVersion } } = request
  const { unvalidated, receivedBody } = recording
  const target = targetOf(request)
  const isInjected = isInjection(request.raw)
  const serverUrl = serverUrlOf(request.raw)
  const attributes = { ...attributesOf(trace) }
  // Validation has converted what the handler receives.
  const headers = { ...(unvalidated?.headers?.value ?? request.headers) as typeof request.headers }
  const query = { ...(unvalidated?.query?.value ?? request.query) as object }
  // A cookie without a name may be a secret.
  const cookies = (headers.cookie ?? '').split(';').filter((pair) => pair.includes('='))
    .map((pair) => pair.slice(0, pair.indexOf('=')).trim())
  const body = snapshotOf(request.body ?? null, headers['content-type'], partText)
  const sentBody = sentBodyOf(body, unvalidated?.body?.value, receivedBody)
  const unparsed = parserError(trace)
  recording.collect(received, () => {
    const { user = userRecord(trace) } = recording.get(sent) ?? {}
    const { mask } = trace
    return {
      method,
      target: mask.url(target),
      httpVersion,
      headers: shownHeaders(headers, mask),
      query: mask.value(query),
      cookies: Object.fromEntries(cookies.map((name) => [mask.text(name), '******'])),
      body: mask.value(body),
      ...(sentBody !== undefined && { sentBody: mask.value(sentBody) }),
      ...(unparsed !== null && { bodyNote: mask.text(unparsed) }),
      attributes: mask.value(attributes),
      ...(user !== undefined && { user: mask.value(user) }),
      ...(isInjected && { injected: true }),
      ...(serverUrl !== undefined && { serverUrl }),
      session: { used: trace.sessionUsed }
    }
  })
}

/** Where the server is on its machine: a client may send any `Host`. */
function serverUrlOf ({ socket }: FastifyRequest['raw']): string | undefined {
  const { localPort, encrypted } = Object(socket) as Partial<TLSSocket>
  if (localPort === undefined) return undefined
  return `${encrypted === true ? 'https' : 'http'}://localhost:${localPort}`
}

/** The body as the client sent it; undefined where it is not known, or the handler received the same. */
function sentBodyOf (body: unknown, copy: unknown, chunks: readonly Buffer[] | null | undefined): unknown {
  let sent = copy
  if (chunks?.length) {
    const text = Buffer.concat(chunks).toString()
    // Most clients send what `JSON.stringify` makes.
    if (text === safeJson(body)) return undefined
    sent = parsedJson(text)
  }
  if (sent === undefined || isDeepStrictEqual(sent, body)) return undefined
  return snapshotOf(sent)
}

/** The plain values of the user that a plugin of the application has put on the request. No getter is called. */
function userRecord ({ request, services }: RequestTrace): unknown {
  if (services.lifecycle !== null) return undefined
  const user: unknown = Object.getOwnPropertyDescriptor(request, 'user')?.value
  if (isScalar(user)) return user
  if (typeof user !== 'object' || user === null) return undefined
  const fields = Object.entries(Object.getOwnPropertyDescriptors(user)).slice(0, MAX_USER_FIELDS)
    .filter(([, { value }]) => [value].flat().every(isScalar))
  return snapshotOf(Object.fromEntries(fields.map(([name, { value }]) => [name, value as unknown])))
}

function isScalar (value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

// The value of a field, or the name of a file, of @fastify/multipart: its parts reference each other.
function partText (value: object): unknown {
  if (!('fieldname' in value && 'mimetype' in value && 'encoding' in value)) return value
  const { file, filename, value: field } = value as { file?: unknown, filename?: unknown, value?: unknown }
  if (file === undefined) return field
  return `[file ${typeof filename === 'string' ? filename : ''}]`
}

// The messages of Fastify's parsers do not contain the body.
function parserError ({ request, recording }: RequestTrace): string | null {
  if (request.body != null || !codeOf(recording.raised).startsWith('FST_ERR_CTP_')) return null
  return `not parsed: ${messageOf(recording.raised)}`
}

/** Maximum characters of a response body that are recorded. */
export const MAX_BODY = 8_000
const TEXT = /^text\/|json|xml|javascript/i

/**
 * Records a response: status, headers, content type, size, and the beginning of a body that is text. `content` is the
 * payload without the toolbar.
 */
function recordResponse (trace: RequestTrace, payload: unknown, content: unknown = payload): void {
  const { recording, recording: { sending }, reply } = trace
  // Of two responses the first is sent, but for a stream that has not begun.
  const isSecond = reply.raw.headersSent || (sending.again !== undefined && sending.stream === undefined)
  if (isSecond && recording.get(sent) !== undefined) return
  const user = userRecord(trace)
  const watched = watchResponse(payload)
  const sizeOfPayload = sizeOf(payload)
  let stream: string | null = null
  if (sizeOfPayload === null && watched === null) stream = binaryText(payload)
  const textOfContent = startOf(content)
  const sizeOfContent = sizeOf(content) ?? 0
  const make = (): Data => {
    const { mask } = trace
    const { headers, replyStatus: status } = recording.sending
    const type = String(headers['content-type'] ?? 'no type')
    const isText = hasText(headers)
    // A later listener may have answered 304, which has no body.
    const hasBody = status !== 304
    const size = watched?.size ?? sizeOfPayload
    const text = watched?.text() ?? textOfContent
    const length = watched?.size ?? sizeOfContent
    let body: unknown
    if (stream !== null) body = stream
    else if (watched !== null && watched.size > 0 && !isText) body = `[binary, ${size} bytes, ${type}]`
    else if (Buffer.isBuffer(payload) && !(isText && isUtf8(payload))) body = `[binary, ${size} bytes, ${type}]`
    else if (trace.diagnosticPolicy !== undefined) body = DIAGNOSTIC_PAGE
    else if (hasBody && status !== 204 && isText && text) body = shownText(text, length, mask)
    return {
      status,
      headers: shownHeaders(headers, mask),
      contentType: headers['content-type'] ?? null,
      size: hasBody ? size : null,
      ...(recording.sending.again !== undefined || isUnlikely(recording, status)) && senderOf(recording),
      ...(body === undefined ? missingBody(trace, status, payload) : { body })
    }
  }
  recording.collect(sent, { user, make })
}

/** Why a response has no body, where the application may have expected one. */
function missingBody (trace: RequestTrace, status: number, payload: unknown): { bodyNote?: string } {
  const { sending: { from }, timing: { serializeStart } } = trace.recording
  // A listener of a lifecycle may have removed the payload before.
  if (status === 204 && (serializeStart !== 0 || (payload != null && payload !== ''))) {
    return { bodyNote: 'not sent: a response with the status 204 has none' }
  }
  if (payload !== undefined || status !== 200 || !trace.services.debug) return {}
  if (serializeStart !== 0) return { bodyNote: 'not sent: JSON has no form of its payload' }
  if (from === undefined || !isSentByFastify(from)) return {}
  return { bodyNote: `not sent: the ${handlerName(trace)} returned undefined` }
}

/** Whether the application has sent a failure without raising an error, or a success in spite of one. */
function isUnlikely ({ failure, routeError }: Recording, status: number): boolean {
  return (status >= 400) === (failure === null && routeError === null)
}

/** The line that sent the response: of two the first one. */
function senderOf ({ sending: { from } }: Recording): { sentBy?: string } {
  const sentBy = from && sourceOfCaller(from)
  if (sentBy == null) return {}
  return { sentBy }
}

/**
 * Counts the body of a `Response` while it is sent, and keeps its beginning. Its `body` becomes a stream that reads the
 * given one only when it is read itself: nothing is read that is not sent, and no sooner.
 */
function watchResponse (payload: unknown): { size: number, text: () => string } | null {
  if (!isResponse(payload)) return null
  const start: Buffer[] = []
  const watched = { size: 0, text: () => Buffer.concat(start).toString() }
  const { body, bodyUsed } = payload
  if (body === null || bodyUsed || body.locked || !Object.isExtensible(payload)) return watched
  let reader: ReadableStreamDefaultReader<unknown> | undefined
  const value = new ReadableStream<unknown>({
    async pull (controller) {
      reader ??= body.getReader()
      const { done, value } = await reader.read()
      if (done) return controller.close()
      if (typeof value === 'string' || value instanceof Uint8Array) {
        const space = Math.max(0, 2 * MAX_BODY - watched.size)
        if (space > 0) start.push(Buffer.from(value.slice(0, space) as string))
        watched.size += Buffer.byteLength(value)
      }
      controller.enqueue(value)
    },
    cancel: async (reason) => await (reader ?? body).cancel(reason)
  }, { highWaterMark: 0 })
  Object.defineProperty(payload, 'body', { value, configurable: true })
  return watched
}

/** The beginning of a body, as a buffer may change later; null if there is none, or a stream. */
function startOf (content: unknown): string | null {
  if (typeof content === 'string') return content.slice(0, 2 * MAX_BODY)
  if (Buffer.isBuffer(content)) return content.toString('utf8', 0, 2 * MAX_BODY)
  return null
}

/** Bytes of a text or a buffer; null for other content. */
function sizeOf (content: unknown): number | null {
  if (typeof content === 'string' || Buffer.isBuffer(content)) return Buffer.byteLength(content)
  return null
}

/** Whether headers describe a body that is text as it is sent. */
export function hasText (headers: Readonly<Record<string, unknown>>): boolean {
  const isEncoded = !/^(?:identity)?$/i.test(String(headers['content-encoding'] ?? ''))
  return !isEncoded && TEXT.test(String(headers['content-type']))
}

/** A body of `length` bytes as the profile stores it. JSON becomes data, whose fields are masked by their names. */
export function shownText (text: string, length: number, mask: Mask): unknown {
  if (length <= MAX_BODY && /^\s*[[{]/.test(text)) {
    const json = parsedJson(text)
    if (json !== undefined) return mask.value(json)
  }
  // Masked before it is truncated: a part of a secret may not be recognized.
  const body = mask.text(text).slice(0, MAX_BODY)
  if (length <= MAX_BODY) return body
  return `${body}… (${formatInteger(length - Buffer.byteLength(body))} more bytes)`
}
