import { errorMonitor } from 'node:events'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { brotliDecompressSync, constants, unzipSync } from 'node:zlib'
import { performance, roundTime } from '../../clock.js'
import { appSource, appSources } from '../../errors/stack-frame.js'
import { codeOf, messageOf, nameOf } from '../../errors/thrown-value.js'
import type { Mask } from '../../mask/mask.js'
import { cutMasked } from '../../mask/text.js'
import type { HookRun } from '../../recording/event-recorder.js'
import type { Recording } from '../../recording/recording.js'
import {
  currentContext, onWorkEnd, recordingIn, type ContextRecording, type WorkServices
} from '../../recording/trace.js'
import { watchChannels } from '../collect.js'
import { framesHere } from '../../queries/stack.js'
import type { WorkKind } from '../../recording/work-log.js'
import { shownHeaders } from '../events/index.js'
import { definePart } from '../part.js'
import type { Data } from '../read.js'
import { formatSize } from '../../view/components.js'
import { hasText, MAX_BODY, shownText } from '../request/collector.js'
import { identifierPositions } from './groups.js'

const MAX_CALLS = 100
const MAX_URL = 4_000

/** An HTTP request to another server that was sent while a request was handled. */
interface Call {
  method: string
  url: string
  /** On the clock of `performance.now()`. */
  startedAt: number
  answeredAt?: number
  endedAt?: number
  /** Frames of the code that sent it; see `framesHere`. */
  frames?: string | undefined
  status?: number | undefined
  error?: unknown
  requestHeaders: unknown
  responseHeaders?: unknown
  /** The hook that has started it. */
  hook?: HookRun | null | undefined
  isOfNode?: boolean
  /** Where bodies are recorded. */
  requestBody?: Body
  responseBody?: Body
  name?: (mask: Mask) => string
  /** Called when it has ended. */
  ended?: () => void
}

/** The calls of one request; above `MAX_CALLS` they are only counted. */
interface CallLog { services: WorkServices, count: number, calls: Call[] }

/** The size of a body in bytes, and its beginning. */
interface Body { size: number, start: Buffer[] }

const CALLS: WorkKind = { one: 'call', many: 'calls' }

/**
 * Calls by the request objects of their clients. A socket has the time when it was created: Node.js 20 does not publish
 * when a request is.
 */
const calls = new WeakMap<object, Pick<Call, 'startedAt'> & Partial<Call>>()

/** The addresses of a profile that are linked: on this machine. */
const LOCAL = /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/

const PROFILE_PATH = /\/_profiler\/[0-9a-f]{6}$/

/** Records a call of the current request. */
function begin (sent: object, call: Omit<Call, 'startedAt'>, startedAt = performance.now()): void {
  const context = currentContext()
  const current = recordingIn(context)
  if (current?.recording.isRecording !== true) return
  const { method, url } = call
  const name = (mask: Mask): string => `${method} ${cutMasked(mask.url, url, MAX_URL).shown}`
  const begun: Call = { ...call, name, startedAt, frames: call.frames || framesHere(), hook: context?.hook }
  const { debug, settings: { callBodies = debug } } = current.services
  if (callBodies) {
    begun.requestBody = { size: 0, start: [] }
    begun.responseBody = { size: 0, start: [] }
  }
  calls.set(sent, begun)
  add(begun, current)
  begun.ended = onWorkEnd(context, current.recording, (later) => add(begun, later))
}

function add (call: Call, { recording, services }: ContextRecording): void {
  const log = recording.get(callLog) ?? recording.set(callLog, { services, count: 0, calls: [] })
  recording.work?.begin(CALLS, call)
  if (++log.count <= MAX_CALLS) log.calls.push(call)
}

function update (sent: object, changes: Partial<Call>): void {
  const call = calls.get(sent)
  if (call !== undefined) Object.assign(call, changes)
}

function end (sent: object, failure: Pick<Call, 'error'> = {}): void {
  update(sent, { endedAt: performance.now(), ...failure })
  calls.get(sent)?.ended?.()
}

// Only Node.js 22.12 and later publish when a request is created.
function beginSocket ({ socket }: { socket: object }): void {
  if (recordingIn()?.recording.isRecording !== true) return
  calls.set(socket, { startedAt: performance.now(), frames: framesHere() })
}

/** Begins a call, or completes it: a request has its last headers when its body has ended. */
function beginHttp ({ request }: { request: ClientRequest }): void {
  const { protocol, host, path, method, socket, reusedSocket } = request
  const url = urlOf(`${protocol}//${String(request.getHeader('host') ?? host)}`, method, path)
  const call = { method, url, requestHeaders: request.getHeaders(), isOfNode: true }
  if (calls.has(request)) return update(request, call)
  const { startedAt, frames } = (reusedSocket ? undefined : calls.get(Object(socket) as object)) ?? {}
  begin(request, { ...call, frames }, startedAt)
  if (calls.has(request)) request.once(errorMonitor, (error) => end(request, { error }))
}

interface ResponseMessage { request: object, response: { statusCode?: number | undefined, headers: unknown } }

function respond ({ request, response }: ResponseMessage): void {
  const { statusCode: status = 0, headers: responseHeaders } = response
  // An interim response (RFC 9110, section 15.2) is not the answer.
  if (status < 200) return
  update(request, { status, responseHeaders, answeredAt: performance.now() })
}

function respondHttp ({ request, response }: { request: ClientRequest, response: IncomingMessage }): void {
  // A response may come before the body of the request has ended.
  if (!calls.has(request)) beginHttp({ request })
  respond({ request, response })
  if (calls.has(request)) response.once('close', () => end(request))
}

/** The URL of a request target (RFC 9112, section 3.2): those for a proxy name their server themselves. */
function urlOf (origin: string, method: string, target: string): string {
  if (method === 'CONNECT' || /^[a-z][a-z\d+.-]*:\/\//i.test(target)) return target
  return `${origin}${target.startsWith('/') ? '' : '/'}${target}`
}

function beginUndici ({ request }: { request: Record<string, unknown> }): void {
  const { method, origin, path, headers } = request
  const url = urlOf(String(origin), String(method), String(path))
  begin(request, { method: String(method), url, requestHeaders: headers })
}

function addChunk (sent: object, name: 'requestBody' | 'responseBody', chunk: Uint8Array | string): void {
  const body = calls.get(sent)?.[name]
  if (body === undefined) return
  const bytes = Buffer.from(chunk as string)
  // Text is masked before it is truncated.
  if (body.size < 2 * MAX_BODY) body.start.push(bytes.subarray(0, 2 * MAX_BODY - body.size))
  body.size += bytes.length
}

const NO_BODY: Body = { size: 0, start: [] }

interface Chunk { request: object, chunk: Uint8Array | string }

/** Records HTTP requests of `node:http`, undici and `fetch` that are sent in the asynchronous context of a request. */
const watchOutgoing = watchChannels([
  ['net.client.socket', beginSocket],
  // Since Node.js 22.12. The next one is published when the body has ended.
  ['http.client.request.created', beginHttp],
  ['http.client.request.start', beginHttp],
  ['http.client.response.finish', respondHttp],
  ['undici:request:create', beginUndici],
  ['undici:request:headers', respond],
  // Since undici 7.
  ['undici:request:bodyChunkSent', ({ request, chunk }: Chunk) => addChunk(request, 'requestBody', chunk)],
  ['undici:request:bodyChunkReceived', ({ request, chunk }: Chunk) => addChunk(request, 'responseBody', chunk)],
  ['undici:request:trailers', ({ request }: { request: object }) => end(request)],
  ['undici:request:error', ({ request, error }: { request: object, error: unknown }) => end(request, { error })]
])

/** The HTTP requests to other servers that were sent while the request was handled. */
export const callLog = definePart<CallLog>({
  name: 'http-client',
  start: watchOutgoing,
  data ({ calls, count, services }, recording) {
    const all = calls.map((call) => recorded(call, services, recording))
    const identifiers = identifierPositions(all, calls.map(({ frames = '' }) => appSources(frames).join()))
    return { count, calls: all.map((call, i) => ({ ...call, identifier: identifiers[i] })) }
  }
})

/** A call as a profile has it, masked; in milliseconds, `start` since the request arrived. */
function recorded (call: Call, { mask, settings }: WorkServices, { timing, until }: Recording): Data {
  const { method, url, startedAt, answeredAt, endedAt = Infinity, status, hook, frames = '' } = call
  const isOpen = endedAt >= until
  const error = isOpen ? undefined : call.error
  const [sent, received] = [headersOf(call.requestHeaders), headersOf(call.responseHeaders)]
  // Another server may name any address of this machine.
  const isLocal = URL.canParse(url) && LOCAL.test(new URL(url).hostname)
  const profile = profileAddress(received['x-debug-token-link'], settings.calledHosts, isLocal)
  const bodyOf = (headers: Record<string, unknown>, { size, start } = NO_BODY): unknown => {
    const bytes = Buffer.concat(start)
    if (size === 0 || !isText(headers)) return undefined
    if (hasText(headers)) return shownText(bytes.toString(), size, mask)
    const text = decompressed(bytes, headers)?.toString()
    if (text === undefined) return undefined
    if (size === bytes.length) return shownText(text, Buffer.byteLength(text), mask)
    return `${mask.text(text).slice(0, MAX_BODY)}… (${formatSize(size)} compressed)`
  }
  const responseBody = bodyOf(received, call.responseBody)
  return {
    method: method.slice(0, 100),
    url: cutMasked(mask.url, url, MAX_URL).shown,
    status: status ?? null,
    start: roundTime(startedAt - timing.startedAt),
    ...answeredAt !== undefined && { answered: roundTime(answeredAt - startedAt) },
    duration: isOpen ? null : roundTime(endedAt - startedAt),
    source: appSource(frames),
    ...hook != null && hook.position !== 0 && { hook: hook.position },
    ...(profile !== null && { profile }),
    ...(error !== undefined && { error: mask.text(textOf(error)).slice(0, 1_000) }),
    requestHeaders: shownHeaders(sent, mask),
    responseHeaders: shownHeaders(received, mask),
    requestBody: bodyOf(sent, call.requestBody),
    responseBody,
    ...!isOpen && responseBody === undefined && { bodyNote: missingBody(call, received) }
  }
}

/** Why bodies are missing where the application has turned them off. */
export const BODIES_OFF = 'profiler.callBodies is off'

/** Before this version undici publishes no bodies; Node.js has its own. */
const UNDICI_WITH_BODIES = 7

/** Why the body of a response is not recorded; undefined where it had none, or that is not known. */
function missingBody (
  { method, status = 0, endedAt, error, isOfNode, responseBody }: Call, headers: Record<string, unknown>
): string | undefined {
  const hasLength = Number(headers['content-length']) > 0
  const hasBody = method !== 'HEAD' && status !== 304 && (hasLength || headers['transfer-encoding'] !== undefined)
  if (!hasBody || !isText(headers) || endedAt === undefined || error !== undefined) return undefined
  if (responseBody === undefined) return BODIES_OFF
  if (responseBody.size > 0) return `compressed with ${String(headers['content-encoding'])}`
  if (isOfNode === true) return 'node:http publishes none'
  const [version] = process.versions.undici?.split('.') ?? []
  // It may be empty. Which undici has sent the request is not known: a package of the application may have another one.
  if (Number(version) >= UNDICI_WITH_BODIES && !hasLength) return undefined
  return 'fetch shows it in Node.js 24 and later, and the package undici in 7 and later'
}

/** Whether a body is text when it is decompressed. */
function isText (headers: Record<string, unknown>): boolean {
  return hasText({ 'content-type': headers['content-type'] })
}

/** Bytes into which the beginning of a body may decompress. */
const MAX_DECOMPRESSED = 1024 * 1024

/** A body, or its beginning, as it was before its server compressed it; undefined where that is not possible. */
function decompressed (bytes: Buffer, headers: Record<string, unknown>): Buffer | undefined {
  const encoding = String(headers['content-encoding']).toLowerCase()
  const limits = { maxOutputLength: MAX_DECOMPRESSED }
  const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH } = constants
  try {
    if (encoding === 'br') return brotliDecompressSync(bytes, { ...limits, finishFlush: BROTLI_OPERATION_FLUSH })
    if (!/^(?:gzip|deflate)$/.test(encoding)) return undefined
    return unzipSync(bytes, { ...limits, finishFlush: Z_SYNC_FLUSH })
  } catch {
    return undefined
  }
}

/** The address of a profile on one of these hosts or this machine, as `X-Debug-Token-Link` has it; else null. */
export function profileAddress (link: unknown, hosts: readonly string[] = [], mayBeLocal = true): string | null {
  if (typeof link !== 'string' || link.length > MAX_URL || !URL.canParse(link)) return null
  const { protocol, hostname, origin, pathname } = new URL(link)
  if (!/^https?:$/.test(protocol) || !PROFILE_PATH.test(pathname)) return null
  const isKnown = (mayBeLocal && LOCAL.test(hostname)) || hosts.some((host) => host.toLowerCase() === hostname)
  return isKnown ? origin + pathname : null
}

/** Headers as an object, also of a list of names and values in turn, which may be buffers. */
function headersOf (headers: unknown): Record<string, unknown> {
  if (!Array.isArray(headers)) return { ...headers as object }
  const found = new Map<string, string | string[]>()
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const [name, value] = [String(headers[i]).toLowerCase(), String(headers[i + 1])]
    const earlier = found.get(name)
    found.set(name, earlier === undefined ? value : [earlier, value].flat())
  }
  return Object.fromEntries(found)
}

// The AggregateError of connections to several addresses has a code and no message.
function textOf (error: unknown): string {
  return messageOf(error) || codeOf(error) || nameOf(error)
}
