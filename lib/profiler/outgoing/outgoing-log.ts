import type { Mask } from '../../mask/mask.js'
import { shownHeaders } from '../panels/headers-collector.js'

const MAX_CALLS = 200
const MAX_URL = 4_000

/** An HTTP request to another server that was sent while a request was handled, as far as it is known. */
export interface Call {
  via: 'http' | 'undici'
  method: string
  /** Called when the profile is built, as are `requestHeaders` and `responseHeaders`: both may still change. */
  url: () => string
  /** On the clock of `performance.now()`. */
  startedAt: number
  /** 0 before the end. */
  endedAt: number
  status: number | null
  error: unknown
  requestHeaders: () => Record<string, unknown>
  responseHeaders: () => Record<string, unknown>
}

/** A call as a profile has it, masked. */
export interface RecordedCall {
  via: Call['via']
  method: string
  url: string
  /** Null: no response has come. */
  status: number | null
  /** Milliseconds since the request arrived. */
  start: number
  /** Milliseconds until the end of the response; null: it had not ended when the profile was built. */
  duration: number | null
  error?: string
  requestHeaders: Record<string, string | string[]>
  responseHeaders: Record<string, string | string[]>
}

/** The calls of one request. */
export class OutgoingLog {
  readonly #calls: Call[] = []
  #count = 0

  /** Adds a call; above two hundred they are only counted. */
  add (call: Call): void {
    this.#count++
    if (this.#calls.length < MAX_CALLS) this.#calls.push(call)
  }

  record (mask: Mask, since: number): { count: number, calls: RecordedCall[] } {
    return { count: this.#count, calls: this.#calls.map((call) => recorded(call, mask, since)) }
  }
}

function recorded (call: Call, mask: Mask, since: number): RecordedCall {
  const { via, method, url, startedAt, endedAt, status, error } = call
  return {
    via,
    method: method.slice(0, 100),
    url: mask.url(url().slice(0, MAX_URL)),
    status,
    start: round(startedAt - since),
    duration: endedAt === 0 ? null : round(endedAt - startedAt),
    ...(error !== null && { error: mask.text(messageOf(error)).slice(0, 1_000) }),
    requestHeaders: headersOf(call.requestHeaders, mask),
    responseHeaders: headersOf(call.responseHeaders, mask)
  }
}

function headersOf (read: () => Record<string, unknown>, mask: Mask): Record<string, string | string[]> {
  try {
    return shownHeaders(read(), mask)
  } catch {
    return {}
  }
}

function messageOf (error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // The AggregateError of connections to several addresses has a code and no message.
  const { message, code } = error as Error & { code?: unknown }
  if (typeof code !== 'string' || message.includes(code)) return message || error.name
  return `${message} ${code}`.trim()
}

function round (ms: number): number {
  return Math.round(ms * 1000) / 1000
}
