import type { Profile } from '../profile.js'
import { readBody, type Body } from './stored-body.js'
import { Gaps, type Gap, type Text } from './masked.js'
import { withoutMore } from './cut-marks.js'

/** The request of a profile, as far as it can be sent again: what a profile has masked are gaps. */
export interface StoredRequest {
  token: string
  method: string
  /** Scheme and authority that it was sent to. */
  origin: string
  /** Segments of the path, the first behind the first slash. */
  path: Text[]
  /** `name=value` pairs as they were sent. */
  query: Text[]
  /** Without `host`, `cookie`, and what belongs to a connection. */
  headers: Array<readonly [name: string, value: Text]>
  host: string | null
  /** `name=value` pairs. */
  cookies: Text[]
  body: Body | null
  /** Why the body that it had cannot be sent again; null where nothing is missing. */
  lost: string | null
  gaps: readonly Gap[]
  /** What else is not as it was. */
  notes: string[]
  /** The address of the client, where no header tells it. */
  ip: string | null
}

/** Raised where a profile has no request that could be sent again. */
export class NotSendableError extends Error {}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const ORIGIN = /^https?:\/\/(?:\[[0-9a-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i
// RFC 9110, section 7.6.1, and what every client sets by itself.
const OF_CONNECTION = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'expect', 'content-length', 'http2-settings'])
const FORWARDING = /^(?:forwarded|x-forwarded-.*|x-real-ip)$/
/** RFC 9110, section 9.2.1. */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/** Whether a method is not meant to change anything (RFC 9110, section 9.2.1). */
export function isSafe (method: string): boolean {
  return SAFE.has(method)
}

/** Reads from a profile the request as it came; throws where it was none. */
export function storedRequest (profile: Profile): StoredRequest {
  const { token, method, url } = profile
  const data = record(profile.collectors.request)
  if (!TOKEN.test(method)) throw new NotSendableError('Its method is none that can be sent.')
  if (data.rawMessage !== undefined) throw new NotSendableError('It was refused by the HTTP parser: it is no request that can be sent again.')
  const gaps = new Gaps()
  const notes: string[] = []
  if (Object.keys(data).length === 0 || (Object.keys(data).length === 1 && typeof data.error === 'string')) {
    notes.push('The profile does not have the headers and the body of the request.')
  }
  const [, authority = '', rest = '/'] = /^(https?:\/\/[^/?#]*)?([^]*)$/i.exec(url) ?? []
  if (!ORIGIN.test(authority)) notes.push('The profile does not tell the host of the request.')
  const target = typeof data.target === 'string' && data.target.startsWith('/') ? data.target : rest
  const [, path = '', search] = /^([^?]*)(?:\?([^]*))?$/.exec(target) ?? []
  // In the order in which they are sent, and asked for.
  const segments = path.replace(/^\//, '').split('/').map((segment, i) => gaps.text(percentSafe(segment), `path.${i + 1}`, `part ${i + 1} of the path`, true))
  const pairs = search === undefined ? [] : search.split('&').map((pair) => gaps.text(percentSafe(pair), `query.${nameOf(pair)}`, `the query parameter ${nameOf(pair)}`))
  const headers = headersOf(record(data.headers), gaps, notes)
  const { body, lost } = readBody(data, gaps)
  return {
    token,
    method,
    origin: ORIGIN.test(authority) ? authority : 'http://localhost',
    path: segments,
    query: pairs,
    ...headers,
    body,
    lost,
    gaps: gaps.list,
    notes,
    ip: headers.headers.some(([name]) => FORWARDING.test(name)) ? null : profile.ip
  }
}

function headersOf (all: Readonly<Record<string, unknown>>, gaps: Gaps, notes: string[]): Pick<StoredRequest, 'headers' | 'host' | 'cookies'> {
  const headers: Array<readonly [string, Text]> = []
  let host: string | null = null
  const cookies: Text[] = []
  for (const [name, given] of Object.entries(all).map(([name, value]) => [name.toLowerCase(), value] as const)) {
    for (const value of [given].flat()) {
      if (OF_CONNECTION.has(name)) continue
      const why = typeof value !== 'string' || !TOKEN.test(name) || /[^\t -~\x80-\xff]/.test(value)
        ? typeof value === 'string' && withoutMore(value) !== null ? 'was cut' : 'is no header that can be sent'
        : name === 'content-encoding' ? 'is left out, as the body is kept decoded' : null
      if (why !== null) notes.push(`The header ${name.slice(0, 60)} ${why}.`)
      else if (name === 'host') host = ORIGIN.test(`http://${String(value)}`) ? String(value) : null
      else if (name === 'cookie') cookies.push(...String(value).split(/; */).filter((pair) => pair !== '').map((pair) => gaps.text(pair, `cookie.${nameOf(pair)}`, `the cookie ${nameOf(pair)}`)))
      else headers.push([name, gaps.text(String(value), name, `the header ${name}`)])
    }
  }
  return { headers, host, cookies }
}

function nameOf (pair: string): string {
  const name = pair.split('=', 1)[0] ?? ''
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

// A target has no white space, nothing that ends a string of a shell, and nothing that a template takes for its own.
function percentSafe (text: string): string {
  return text.toWellFormed().replace(/[^!$&-;=?-Z\\[\]_a-z~%]/gu, (character) => encodeURIComponent(character)).replaceAll('\\', '%5C')
}

function record (value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? value as Record<string, unknown> : {}
}
