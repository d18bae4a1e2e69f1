import type { Mask } from '../../mask/mask.js'
import { shownHeaders } from '../panels/headers-collector.js'

const MAX_CALLS = 200
const MAX_URL = 4_000

/** One request that was sent while another was handled, as it is known so far. */
export interface Call {
  via: 'http' | 'undici'
  method: string
  url: string
  /** On the clock of `performance.now()`. */
  startedAt: number
  endedAt: number
  status: number | null
  error: unknown
  /** Read when the profile is written, if at all. */
  requestHeaders: () => Record<string, unknown>
  responseHeaders: () => Record<string, unknown>
}

/** The same as plain data, masked. */
export interface RecordedCall {
  via: Call['via']
  method: string
  url: string
  /** Null where no answer has come. */
  status: number | null
  /** Milliseconds since the request arrived. */
  start: number
  /** Milliseconds, to the end of the answer; null where it had not ended when the profile was written. */
  duration: number | null
  error?: string
  requestHeaders: Record<string, string | string[]>
  responseHeaders: Record<string, string | string[]>
}

/** What a request sent to others. */
export class OutgoingLog {
  readonly #calls: Call[] = []
  #count = 0

  /** Takes a call in; those above two hundred are only counted. */
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
    url: mask.url(url.slice(0, MAX_URL)),
    status,
    start: round(startedAt - since),
    duration: endedAt === 0 ? null : round(endedAt - startedAt),
    ...(error !== null && { error: mask.text(messageOf(error)).slice(0, 1_000) }),
    requestHeaders: read(call.requestHeaders, mask),
    responseHeaders: read(call.responseHeaders, mask)
  }
}

function read (headers: () => Record<string, unknown>, mask: Mask): Record<string, string | string[]> {
  try {
    return shownHeaders(headers(), mask)
  } catch {
    return {}
  }
}

function messageOf (error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // What connects to several addresses fails with an error that has no message of its own.
  const { code } = error as { code?: unknown }
  return [error.message, typeof code === 'string' && !error.message.includes(code) ? code : ''].filter((part) => part !== '').join(' ') || error.name
}

function round (ms: number): number {
  return Math.round(ms * 1000) / 1000
}
