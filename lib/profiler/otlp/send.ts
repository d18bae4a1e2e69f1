import { setTimeout as sleep } from 'node:timers/promises'
import type { OtlpTarget } from './settings.js'
import type { TraceRequest } from './message.js'

/** What became of a request to a collector. */
export interface SendOutcome {
  /** How many spans it has refused, though it took the request. */
  rejected: number
  /** What it has to say of that. */
  message: string
}

export interface SendOptions {
  /** Milliseconds for one attempt; 10,000 by default. */
  timeout?: number
  /** How many attempts there are; 3 by default. */
  attempts?: number
  /** Milliseconds ahead of the second attempt, twice as many ahead of the next; 500 by default. */
  backoff?: number
  signal?: AbortSignal
}

// OTLP 1.x, section "Failures": what may be tried again.
const RETRYABLE = new Set([429, 502, 503, 504])
const MAX_WAIT = 30_000
const MAX_ANSWER = 64 * 1024

/** Sends traces to a collector by HTTP; rejects with the reason when it does not take them. */
export async function sendTraces (request: TraceRequest, { endpoint, headers }: OtlpTarget, { timeout = 10_000, attempts = 3, backoff = 500, signal }: SendOptions = {}): Promise<SendOutcome> {
  const body = JSON.stringify(request)
  for (let attempt = 1; ; attempt++) {
    const { response, reason } = await post(endpoint, headers, body, timeout, signal)
    if (response?.ok === true) return outcomeOf(await textOf(response))
    const text = response === null ? '' : await textOf(response)
    const mayRetry = signal?.aborted !== true && (response === null || RETRYABLE.has(response.status))
    if (!mayRetry || attempt >= attempts) throw new Error(`the collector at ${placeOf(endpoint)} ${reason}${text === '' ? '' : `: ${text.slice(0, 300)}`}`)
    await sleep(waitOf(response, backoff * 2 ** (attempt - 1)), undefined, { ...(signal !== undefined && { signal }) }).catch(() => {})
  }
}

async function post (endpoint: string, headers: Record<string, string>, body: string, timeout: number, signal?: AbortSignal): Promise<{ response: Response | null, reason: string }> {
  try {
    const over = AbortSignal.timeout(timeout)
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
      // Who gets the headers is who was named.
      redirect: 'manual',
      signal: signal === undefined ? over : AbortSignal.any([over, signal])
    })
    return { response, reason: `answered with ${response.status}` }
  } catch (error) {
    const { cause, message } = error as Error
    return { response: null, reason: `cannot be reached: ${cause instanceof Error ? (cause as NodeJS.ErrnoException).code ?? cause.message : message}` }
  }
}

async function textOf (response: Response): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true })
      if (text.length > MAX_ANSWER) break
    }
  } catch {
    // What it said so far is enough.
  }
  return text.trim()
}

function outcomeOf (text: string): SendOutcome {
  try {
    const { partialSuccess } = JSON.parse(text) as { partialSuccess?: { rejectedSpans?: unknown, errorMessage?: unknown } | null }
    return { rejected: Number(partialSuccess?.rejectedSpans) || 0, message: String(partialSuccess?.errorMessage ?? '').slice(0, 300) }
  } catch {
    return { rejected: 0, message: '' }
  }
}

function waitOf (response: Response | null, backoff: number): number {
  const seconds = Number(response?.headers.get('retry-after') ?? NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(MAX_WAIT, seconds * 1000) : backoff * (0.75 + Math.random() / 2)
}

/** An address without what may be secret in it. */
export function placeOf (endpoint: string): string {
  const { origin, pathname } = new URL(endpoint)
  return origin + pathname
}
