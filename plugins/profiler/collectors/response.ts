import type { Mask } from '../../kernel/mask/mask.js'
import { marked, TOKEN_HEADERS } from '../../kernel/token-mark.js'
import { shownHeaders } from './headers.js'
import { RecentRecords } from './recent-records.js'

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

const recent = new RecentRecords()

/** What goes out, masked; where it tells the token of its profile, there is a mark in place of that. */
export function responseRecord ({ status, headers, size, body }: Facts, token: string, mask: Mask): ResponseRecord {
  const told: Record<string, unknown> = { ...headers }
  for (const name of TOKEN_HEADERS) if (told[name] !== undefined) told[name] = marked(told[name], token)
  const facts: unknown[] = [mask, status, size, body]
  for (const name in told) facts.push(name, told[name])
  return recent.of(facts, () => ({
    status,
    headers: shownHeaders(told, mask),
    contentType: headers['content-type'] ?? null,
    size,
    ...(body !== undefined && { body })
  }))
}
