import { isDeepStrictEqual } from 'node:util'
import type { FastifyReply } from 'fastify'
import { attempt } from '../call.js'
import type { HeaderChange } from './events.js'

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
  const headers = attempt(() => reply.getHeaders() as Record<string, HeaderValue>) ?? {}
  for (const name in headers) {
    const value = headers[name]
    // Fastify appends cookies to the array of `Set-Cookie` in place.
    if (Array.isArray(value)) headers[name] = [...value]
  }
  return headers
}

/** The headers of a response that was sent: those of the raw response, which has more where a reply was hijacked. */
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
