import type { Mask } from '../../mask/mask.js'
import { shownHeaders } from './headers.js'

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

/** What goes out, masked. */
export function responseRecord ({ status, headers, size, body }: Facts, mask: Mask): ResponseRecord {
  return { status, headers: shownHeaders(headers, mask), contentType: headers['content-type'] ?? null, size, ...(body !== undefined && { body }) }
}
