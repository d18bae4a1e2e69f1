import { splitAtPlaceholders, type Body, type MaskedValue, type StoredRequest } from './stored-request.js'

export interface FilledRequest {
  method: string
  target: string
  /** Names in lower case; a repeated one has a list. */
  headers: Record<string, string | string[]>
  body?: string
}

/** Replaces the placeholders of a text by encoded values; undefined if a value is missing. */
type Fill = (text: string, encode?: (value: string) => string) => string | undefined

/**
 * Replaces the placeholders of a request by the values that `valueOf` returns for them. Parts without a value are left
 * out.
 */
export function fillRequest (
  request: StoredRequest, valueOf: (masked: MaskedValue) => string | undefined = () => undefined
): FilledRequest {
  const byEnv = new Map(request.masked.map((masked) => [masked.env, valueOf(masked) ?? '']))
  const fill: Fill = (text, encode = (value) => value) => {
    const parts = splitAtPlaceholders(text).map((part, i) => i % 2 === 0 ? part : byEnv.get(part) ?? '')
    if (parts.some((part, i) => i % 2 === 1 && part === '')) return undefined
    return parts.map((part, i) => i % 2 === 0 ? part : encode(part)).join('')
  }
  const headers = new Map<string, string | string[]>()
  for (const [name, text] of request.headers) {
    const [value, earlier] = [fill(text), headers.get(name)]
    if (value !== undefined) headers.set(name, earlier === undefined ? value : [earlier, value].flat())
  }
  const cookies = request.cookies.flatMap((pair) => fill(pair) ?? [])
  if (cookies.length > 0) headers.set('cookie', cookies.join('; '))
  const query = request.query.flatMap((pair) => fill(pair, percentEncoded) ?? [])
  const body = request.body && bodyText(request.body, fill)
  return {
    method: request.method,
    target: `${fill(request.path, percentEncoded) ?? '/'}${query.length === 0 ? '' : `?${query.join('&')}`}`,
    headers: Object.fromEntries(headers),
    ...(body !== undefined && { body })
  }
}

function bodyText (body: Body, fill: Fill): string | undefined {
  if (body.kind === 'text') return fill(body.text)
  // The properties of an object that are undefined are left out.
  if (body.kind === 'json') return JSON.stringify(filledJson(body.value, fill))
  return body.pairs.flatMap((pair) => fill(pair, percentEncoded) ?? []).join('&')
}

function filledJson (value: unknown, fill: Fill): unknown {
  if (typeof value === 'string') return fill(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => filledJson(item, fill)).filter((item) => item !== undefined)
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, filledJson(item, fill)]))
}

function percentEncoded (value: string): string {
  return encodeURIComponent(value.toWellFormed())
}
