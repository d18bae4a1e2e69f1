import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { errorMonitor } from 'node:events'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { requestContext } from '../../lifecycle/request-state.js'
import { stateOf } from '../../lifecycle/request-state.js'
import { servicesOf } from '../../lifecycle/services.js'
import { OutgoingLog, type Call } from './outgoing-log.js'

declare module '../../lifecycle/request-state.js' {
  interface RequestState {
    outgoing?: OutgoingLog
  }
}

/** The properties of a request of undici, which `fetch` of Node.js uses, that are read. */
interface UndiciRequest {
  origin?: unknown
  path?: unknown
  method?: unknown
  /** Names and values in turn; in older versions the text that is sent. */
  headers?: unknown
  addHeader?: (name: string, value: string) => unknown
}

type Subscriber = (message: never) => void

let watchers = 0

/**
 * Records HTTP requests of `node:http`, undici and `fetch` for the request in whose asynchronous context they are sent.
 * The returned function ends this.
 */
export function watchOutgoing (): () => void {
  if (watchers++ === 0) for (const [channel, subscriber] of SUBSCRIBERS) subscribe(channel, subscriber)
  return () => {
    if (--watchers > 0) return
    for (const [channel, subscriber] of SUBSCRIBERS) unsubscribe(channel, subscriber)
  }
}

const httpCalls = new WeakMap<ClientRequest, Call>()
const undiciCalls = new WeakMap<object, Call>()

/** Begins a call of the observed request; null: there is none. */
function beginCall (made: Pick<Call, 'via' | 'method' | 'url' | 'requestHeaders'>): Call | null {
  const request = requestContext.getStore()?.request
  if (request === undefined || !stateOf(request).observed) return null
  const state = stateOf(request)
  if (state.outgoing === undefined) {
    const { mask } = servicesOf(request)
    const log = state.outgoing = new OutgoingLog()
    state.collect('http-client', () => log.record(mask, state.startedAt))
  }
  const startedAt = performance.now()
  const call: Call = { ...made, startedAt, endedAt: 0, status: null, error: null, responseHeaders: () => ({}) }
  state.outgoing.add(call)
  return call
}

/** The headers that continue the trace of the observed request; none where an instrumentation has set them. */
function traceHeaders (hasHeader: (name: string) => boolean): Record<string, string> {
  const request = requestContext.getStore()?.request
  const trace = request === undefined ? null : stateOf(request).trace
  return trace == null || hasHeader('traceparent') ? {} : trace.headers()
}

function endCall (call: Call | undefined, error: unknown = null): void {
  if (call === undefined) return
  call.endedAt = performance.now()
  if (error !== null) call.error = error
}

// Node.js 20 publishes the first message when the request is written, later versions when it is created.
function beginHttp ({ request }: { request: ClientRequest }): void {
  if (httpCalls.has(request)) return
  const url = (): string => `${request.protocol}//${String(request.getHeader('host') ?? request.host)}${request.path}`
  const call = beginCall({ via: 'http', method: request.method, url, requestHeaders: () => request.getHeaders() })
  if (call === null) return
  httpCalls.set(request, call)
  request.once(errorMonitor, (error) => endCall(call, error))
  if (request.headersSent) return
  for (const [name, value] of Object.entries(traceHeaders((name) => request.hasHeader(name)))) {
    request.setHeader(name, value)
  }
}

function answerHttp ({ request, response }: { request: ClientRequest, response: IncomingMessage }): void {
  const call = httpCalls.get(request)
  if (call === undefined) return
  call.status = response.statusCode ?? null
  call.responseHeaders = () => response.headers
  response.once('close', () => endCall(call))
}

function beginUndici ({ request }: { request: UndiciRequest }): void {
  const url = `${String(request.origin)}${String(request.path)}`
  const requestHeaders = (): Record<string, unknown> => headersOf(request.headers)
  const call = beginCall({ via: 'undici', method: String(request.method), url: () => url, requestHeaders })
  if (call === null) return
  undiciCalls.set(request, call)
  for (const [name, value] of Object.entries(traceHeaders((name) => Object.hasOwn(requestHeaders(), name)))) {
    request.addHeader?.(name, value)
  }
}

interface UndiciResponse {
  request: object
  response: { statusCode: number, headers: unknown }
}

function answerUndici ({ request, response }: UndiciResponse): void {
  const call = undiciCalls.get(request)
  if (call === undefined) return
  call.status = response.statusCode
  call.responseHeaders = () => headersOf(response.headers)
}

function endUndici ({ request, error }: { request: object, error?: unknown }): void {
  endCall(undiciCalls.get(request), error)
}

const SUBSCRIBERS = ([
  ['http.client.request.created', beginHttp],
  ['http.client.request.start', beginHttp],
  ['http.client.response.finish', answerHttp],
  ['undici:request:create', beginUndici],
  ['undici:request:headers', answerUndici],
  ['undici:request:trailers', endUndici],
  ['undici:request:error', endUndici]
] satisfies Array<[string, Subscriber]>).map(([channel, subscriber]) => [channel, quiet(subscriber)] as const)

// An exception in a subscriber becomes an uncaught exception of the process.
function quiet (subscriber: Subscriber): (message: unknown) => void {
  return (message) => {
    try {
      subscriber(message as never)
    } catch {
      // The call is not recorded.
    }
  }
}

function headersOf (headers: unknown): Record<string, string | string[]> {
  const lines = typeof headers === 'string' ? headers.split('\r\n') : []
  const flat = Array.isArray(headers) ? headers.map(String) : lines.flatMap(nameAndValue)
  const found: Record<string, string | string[]> = {}
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const [name, value] = [(flat[i] as string).toLowerCase(), flat[i + 1] as string]
    const earlier = found[name]
    found[name] = earlier === undefined ? value : [earlier, value].flat()
  }
  return found
}

function nameAndValue (line: string): string[] {
  const colon = line.indexOf(':')
  return colon < 1 ? [] : [line.slice(0, colon), line.slice(colon + 1).trim()]
}
