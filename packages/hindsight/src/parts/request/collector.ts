import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { isDeepStrictEqual } from 'node:util'
import type { FastifyRequest } from 'fastify'
import { isInjection } from 'light-my-request'
import { parsedJson } from '../../call.js'
import { isSentByFastify } from '../../errors/declared-place.js'
import { maskFrame } from '../../errors/masked-exceptions.js'
import { excerptAt } from '../../errors/source-file.js'
import { callerFrame, positionOf } from '../../errors/stack-frame.js'
import { codeOf, messageOf } from '../../errors/thrown-value.js'
import { watchParts, type UploadedPart } from '../../http/multipart.js'
import { targetOf } from '../../http/requests.js'
import { hasNoBody, isResponse } from '../../http/responses.js'
import { attributesOf, type RequestTrace } from '../../recording/trace.js'
import type { Recording } from '../../recording/recording.js'
import type { Mask } from '../../mask/mask.js'
import { readEntries } from '../../mask/read-object.js'
import { formatSize } from '../../view/components.js'
import { formatInteger, safeJson } from '../../view/text.js'
import { binaryText, handlerName, snapshotOf } from '../collect.js'
import { shownHeaders } from '../events/index.js'
import { definePart } from '../part.js'
import { groupedBy, type Data } from '../read.js'

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
/** Lines before and after the one that has sent a refusal: the condition is mostly before it. */
const ABOVE = 6
const BELOW = 2
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
  const bodyNote = unknownBody(trace)
  const uploaded = body === null && trace.services.debug ? watchParts(request) : null
  recording.collect(received, () => {
    const { user = userRecord(trace) } = recording.get(sent) ?? {}
    const { mask } = trace
    const isUploaded = uploaded !== null && uploaded.length > 0
    return {
      method,
      target: mask.url(target),
      httpVersion,
      headers: shownHeaders(headers, mask),
      query: mask.value(query),
      cookies: Object.fromEntries(cookies.map((name) => [mask.text(name), '******'])),
      body: mask.value(isUploaded ? uploadedBody(uploaded) : body),
      ...(bodyNote !== null && !isUploaded && { bodyNote: mask.text(bodyNote) }),
      ...(sentBody !== undefined && { sentBody: mask.value(sentBody) }),
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
  const fields = readEntries(user, MAX_USER_FIELDS).entries.filter(([, value]) => [value].flat().every(isScalar))
  return snapshotOf(Object.fromEntries(fields))
}

function isScalar (value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

// The value of a field, or the name of a file, of @fastify/multipart: its parts reference each other.
function partText (value: object): unknown {
  if (!('fieldname' in value && 'mimetype' in value && 'encoding' in value)) return value
  const { file, filename, value: field, mimetype } = value as Record<string, unknown>
  if (file === undefined) return field
  const { bytesRead } = Object(file) as { bytesRead?: unknown }
  return fileText(filename, mimetype, Number(bytesRead))
}

function fileText (name: unknown, type: unknown, size: number): string {
  const texts = [name, type, size > 0 && formatSize(size)].filter((text) => typeof text === 'string')
  return `[file ${texts.join(', ')}]`
}

function uploadedText ({ filename, type, size, start }: UploadedPart): string {
  if (filename !== undefined) return fileText(filename, type, size)
  const left = size - start.length
  return `${start.toString()}${left > 0 ? `… (${formatInteger(left)} more bytes)` : ''}`
}

/** The fields and files of a body that the application reads itself, by their names. */
function uploadedBody (parts: readonly UploadedPart[]): object {
  const values = [...groupedBy(parts, ({ name }) => name)].map(([name, equal]) => {
    const texts = equal.map(uploadedText)
    return [name, texts.length === 1 ? texts[0] : texts]
  })
  return Object.fromEntries(values) as object
}

/** Why the body that a client has sent is not known; null: it is, or there was none. */
function unknownBody ({ request, recording }: RequestTrace): string | null {
  const { body, headers } = request
  if (body !== undefined && body !== null) return null
  // The messages of Fastify's parsers do not contain the body.
  if (codeOf(recording.raised).startsWith('FST_ERR_CTP_')) return `not parsed: ${messageOf(recording.raised)}`
  if (headers['content-type']?.startsWith('multipart/') !== true) return null
  const size = Number(headers['content-length'])
  return `not recorded: the application reads the parts${size > 0 ? `, ${formatSize(size)},` : ''} itself`
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
  const counted = watched ?? countChunks(payload)
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
    // A later listener may have changed the status.
    const hasBody = !hasNoBody(trace.request, status)
    const size = counted?.size ?? sizeOfPayload
    const text = counted?.text() ?? textOfContent
    const length = counted?.size ?? sizeOfContent
    let body: unknown
    if (!hasBody) body = undefined
    else if (stream !== null && !(isText && text)) body = stream
    else if (watched !== null && watched.size > 0 && !isText) body = `[binary, ${size} bytes, ${type}]`
    else if (Buffer.isBuffer(payload) && !(isText && isUtf8(payload))) body = `[binary, ${size} bytes, ${type}]`
    else if (trace.diagnosticPolicy !== undefined) body = DIAGNOSTIC_PAGE
    else if (isText && text) body = shownText(text, length, mask)
    return {
      status,
      headers: shownHeaders(headers, mask),
      contentType: headers['content-type'] ?? null,
      size: hasBody ? size : null,
      ...streamedData(trace, counted, stream !== null),
      ...(recording.sending.again !== undefined || isUnlikely(recording, status)) && senderOf(trace, status),
      ...(body === undefined ? missingBody(trace, status, payload) : { body })
    }
  }
  recording.collect(sent, { user, make })
}

/** What was streamed, also by a hijacked reply or a web stream, whose chunks are not known; nothing for the others. */
function streamedData (
  { recording: { sending } }: RequestTrace, counted: Counted | null, isStream: boolean
): { streamed?: Streamed } {
  const { isHijacked, isClosedByClient, isCutOff, bytes } = sending
  const end = { isHijacked, isClosedByClient, ...isCutOff && { isCutOff } }
  if (isHijacked || (isStream && counted === null)) {
    return { streamed: { ...end, ...bytes !== undefined && { bytes } } }
  }
  if (counted === null || counted.chunks === 0) return {}
  return { streamed: { ...end, chunks: counted.chunks, bytes: counted.size } }
}

/** Why a response has no body, where the application may have expected one. */
function missingBody (trace: RequestTrace, status: number, payload: unknown): { bodyNote?: string } {
  const { sending: { from, isHijacked }, timing: { serializeStart } } = trace.recording
  if (isHijacked) return { bodyNote: 'not recorded: the application hijacked the reply, and wrote it itself' }
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

/** The line that sent the response: of two the first one. That of a refusal has its source. */
function senderOf ({ recording: { sending: { from } }, services, mask }: RequestTrace, status: number): Data {
  const frame = from && callerFrame(from)
  if (frame === undefined) return {}
  const sentBy = positionOf(frame)
  const excerpt = excerptAt(frame.file, frame.line, ABOVE, BELOW)
  if (status < 400 || excerpt === undefined || !services.debug) return { sentBy }
  return { sentBy, sentFrom: maskFrame({ ...frame, excerpt }, mask) }
}

/** What a stream has given to the response, and its beginning. */
class Counted {
  chunks = 0
  size = 0
  readonly #start: Buffer[] = []

  add (chunk: string | Uint8Array): void {
    const space = Math.max(0, 2 * MAX_BODY - this.size)
    if (space > 0) this.#start.push(Buffer.from(chunk.slice(0, space) as string))
    this.chunks++
    this.size += Buffer.byteLength(chunk)
  }

  text (): string {
    return Buffer.concat(this.#start).toString()
  }
}

/**
 * What was streamed: chunks and bytes of the body; without chunks, the bytes on the socket with the headers, where
 * these are known.
 */
export interface Streamed {
  isHijacked: boolean
  isClosedByClient: boolean
  /** Whether it did not end, and the client has not closed it. */
  isCutOff?: boolean
  chunks?: number
  bytes?: number
}

/** Counts what a stream of Node.js gives to the response: a listener is added when the response adds its own. */
function countChunks (payload: unknown): Counted | null {
  if (!(payload instanceof Readable) || payload.readableFlowing !== null) return null
  const counted = new Counted()
  payload.on('newListener', function onListener (event: string) {
    if (event !== 'data') return
    payload.off('newListener', onListener)
    payload.on('data', (chunk: Buffer | string) => counted.add(chunk))
  })
  return counted
}

/**
 * Counts the body of a `Response` while it is sent, and keeps its beginning. Its `body` becomes a stream that reads the
 * given one only when it is read itself: nothing is read that is not sent, and no sooner.
 */
function watchResponse (payload: unknown): Counted | null {
  if (!isResponse(payload)) return null
  const watched = new Counted()
  const { body, bodyUsed } = payload
  if (body === null || bodyUsed || body.locked || !Object.isExtensible(payload)) return watched
  let reader: ReadableStreamDefaultReader<unknown> | undefined
  const value = new ReadableStream<unknown>({
    async pull (controller) {
      reader ??= body.getReader()
      const { done, value } = await reader.read()
      if (done) return controller.close()
      if (typeof value === 'string' || value instanceof Uint8Array) watched.add(value)
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
