import { isDeepStrictEqual } from 'node:util'
import type { FastifyReply } from 'fastify'

/** One place in the order of a lifecycle's listeners, as it is after registration. */
export interface Slot {
  /** Its place in the whole order, from 0. */
  readonly index: number
  /** The name of its stage: see `Lifecycle.stages`. */
  readonly stage: string
  readonly listener: string
  /** Why no hook was added; null if one was. */
  reason: string | null
}

export type PassName = 'main' | 'error'
/** `running`: it has not ended, or had not when the connection was closed. */
export type Outcome = 'ran' | 'skipped' | 'answered' | 'raised' | 'running'

/** The hooks of Fastify that a request passes; what an application adds to them happens between the listeners. */
export type HookStage =
  'onRequest' | 'preParsing' | 'preValidation' | 'preHandler' | 'preSerialization' | 'onSend' | 'onError' |
  'onResponse' | 'onTimeout'

const HOOK_STAGES: ReadonlySet<string> = new Set<HookStage>([
  'onRequest', 'preParsing', 'preValidation', 'preHandler', 'preSerialization', 'onSend', 'onError', 'onResponse',
  'onTimeout'
])

/** Whether a stage is one of a lifecycle, whose steps are listeners; otherwise it is a hook of Fastify. */
export function isLifecycleStage (stage: string): boolean {
  return !HOOK_STAGES.has(stage)
}

/** One header before and after a listener; null: not set. */
export interface HeaderChange {
  name: string
  from: string | null
  to: string | null
}

/** The event of one listener, or one hook of the application, in one pass. */
export interface ListenerEvent {
  stage: string
  /** The name of the listener or function; of a function without one that of its plugin, else the stage. */
  listener: string
  pass: PassName
  outcome: Outcome
  /** Milliseconds since the request arrived. */
  start: number
  /** Milliseconds. */
  duration: number
  /** Why it was skipped. */
  reason?: string
  /** Of a hook: the plugin that added it, where that is known. */
  plugin?: string
  /** Of a hook: where it was added, `file:line`. */
  source?: string
  changes?: {
    headers?: HeaderChange[]
    status?: { from: number, to: number }
  }
}

/** A listener or hook, with its name where it has one. */
export function hookTitle ({ stage, listener }: { stage: string, listener: string }): string {
  if (isLifecycleStage(stage)) return `listener "${listener}"`
  return `${stage} hook${listener === stage ? '' : ` "${listener}"`}`
}

/** The value of a header as Fastify stores it; undefined where there is none. */
type HeaderValue = string | number | string[] | undefined

/** The headers of a reply, by their names in lower case. */
export type Headers = Readonly<Record<string, HeaderValue>>

/** One header before and after. */
export interface Change {
  name: string
  from: HeaderValue
  to: HeaderValue
}

/** Replaces the secret parts of a header's value. */
export type HeaderMask = (name: string, value: string) => string

/** A copy of the current headers of a reply. */
export function headersOf (reply: FastifyReply): Headers {
  // The raw response of the application's own server may lack `getHeaders`.
  if (!('getHeaders' in reply.raw)) return {}
  const headers = reply.getHeaders() as Record<string, HeaderValue>
  for (const name in headers) {
    const value = headers[name]
    // Fastify appends cookies to the array of `Set-Cookie` in place.
    if (Array.isArray(value)) headers[name] = [...value]
  }
  return headers
}

/** The headers of a response that was sent: those of the raw response, where Node.js has them. */
export function sentHeadersOf (reply: FastifyReply): Headers {
  const { raw } = reply
  // HTTP/2 has the status among them.
  const sent = Object.entries(raw.headersSent ? raw.getHeaders?.() ?? {} : {}).filter(([name]) => !name.startsWith(':'))
  return sent.length === 0 ? headersOf(reply) : Object.fromEntries(sent) as Headers
}

/** The headers that differ between two copies. */
export function changesBetween (before: Headers, after: Headers): Change[] {
  const changes: Change[] = []
  for (const name in after) {
    if (before[name] === after[name]) continue
    const from = valueOf(before, name)
    if (!isDeepStrictEqual(from, after[name])) changes.push({ name, from, to: after[name] })
  }
  for (const name in before) {
    if (before[name] !== undefined && valueOf(after, name) === undefined) {
      changes.push({ name, from: before[name], to: undefined })
    }
  }
  return changes
}

// A header may have the name of a property of `Object.prototype`.
function valueOf (headers: Headers, name: string): HeaderValue {
  return Object.hasOwn(headers, name) ? headers[name] : undefined
}

/** The masked value of a header; null where there is none. */
export function shownValue (name: string, value: HeaderValue, mask: HeaderMask): string | null {
  if (value === undefined) return null
  return Array.isArray(value) ? value.map((one) => mask(name, one)).join(', ') : mask(name, String(value))
}

/** A change with its values masked. */
export function shownChange ({ name, from, to }: Change, mask: HeaderMask): HeaderChange {
  return { name, from: shownValue(name, from, mask), to: shownValue(name, to, mask) }
}
