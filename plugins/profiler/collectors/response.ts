import type { Mask } from '../../kernel/mask/mask.js'
import { marked, TOKEN_HEADERS } from '../../kernel/token-mark.js'
import { shownHeaders } from './headers.js'
import type { RecentRecords } from './recent-records.js'

/** What a profile tells of the response. */
export interface ResponseRecord {
  status: number
  headers: Record<string, string | string[]>
  contentType: unknown
  /** Bytes; null where that is not known. */
  size: number | null
  /** What the body is where it is no text. */
  body?: string
}

type Facts = Omit<ResponseRecord, 'headers' | 'contentType'> & { headers: Readonly<Record<string, unknown>> }

/**
 * What goes out, masked; where it tells the token of its profile, there is a mark in place of that. `recent` has what other responses were,
 * and this one, unless it is not to be remembered.
 */
export function responseRecord ({ status, headers, size, body }: Facts, token: string, mask: Mask, recent: RecentRecords, isRemembered: boolean): ResponseRecord {
  const told: Record<string, unknown> = { ...headers }
  for (const name of TOKEN_HEADERS) if (told[name] !== undefined) told[name] = marked(told[name], token)
  return recent.of(isRemembered ? factsOf(told, status, size, body) : null, () => ({
    status,
    headers: shownHeaders(told, mask),
    contentType: headers['content-type'] ?? null,
    size,
    ...(body !== undefined && { body })
  }))
}

// All that a record depends on; null where it has a cookie, which is for one client, or a list, which may change where it is.
function factsOf (headers: Record<string, unknown>, ...facts: unknown[]): unknown[] | null {
  for (const name in headers) {
    const value = headers[name]
    if (typeof value === 'object' || name === 'set-cookie') return null
    facts.push(name, value)
  }
  return facts
}
