import type { FastifyReply } from 'fastify'

/** The value of a header as Fastify keeps it; undefined where there is none. */
export type HeaderValue = string | number | string[] | undefined

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

/** All headers of a reply as they are now: a copy. */
export function headersOf (reply: FastifyReply): Headers {
  let headers: Record<string, HeaderValue>
  try {
    headers = reply.getHeaders() as typeof headers
  } catch {
    // The raw response of a server of the application's own may lack `getHeaders`.
    return {}
  }
  for (const name in headers) {
    const value = headers[name]
    // Fastify adds further cookies to the list that is there.
    if (Array.isArray(value)) headers[name] = [...value]
  }
  return headers
}

/** The headers that differ between two copies. */
export function changesBetween (from: Headers, to: Headers): Change[] {
  const changes: Change[] = []
  for (const name in to) {
    const before = valueOf(from, name)
    if (!isSameValue(before, to[name])) changes.push({ name, from: before, to: to[name] })
  }
  for (const name in from) {
    const before = from[name]
    if (before !== undefined && valueOf(to, name) === undefined) changes.push({ name, from: before, to: undefined })
  }
  return changes
}

// A header may have a name that all objects have.
function valueOf (headers: Headers, name: string): HeaderValue {
  return Object.hasOwn(headers, name) ? headers[name] : undefined
}

function isSameValue (one: HeaderValue, other: HeaderValue): boolean {
  if (!Array.isArray(one) || !Array.isArray(other)) return one === other
  return one.length === other.length && one.every((value, i) => value === other[i])
}

/** A header's value as it may be shown; null where there is none. */
export function shownValue (name: string, value: HeaderValue, mask: HeaderMask): string | null {
  if (value === undefined) return null
  return Array.isArray(value) ? value.map((one) => mask(name, one)).join(', ') : mask(name, String(value))
}
