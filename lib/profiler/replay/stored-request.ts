import { randomBytes } from 'node:crypto'
import { MASKED } from '../../mask/mask.js'
import { grouped } from '../../view/counted.js'
import { dataOf, isObject, type Data } from '../panels/panel.js'
import type { Profile } from '../profile.js'

/** A value that the profile has masked, and that has to be given when the request is sent again. */
export interface Gap {
  /** Unique within the request: `authorization`, `cookie.sid`, `query.key`, `body.user.password`. */
  name: string
  /** The name as an environment variable. */
  env: string
  /** The place of the value, in words. */
  where: string
  /** Whether the request cannot be sent without it. Other parts of a request are left out instead. */
  required: boolean
}

/** A body in the form in which it is written again. */
export type Body =
  | { kind: 'json', value: unknown }
  | { kind: 'form', fields: Array<[name: string, value: string]> }
  | { kind: 'text', text: string }

/** The request of a profile, as far as it can be sent again. In its texts, placeholders stand for masked values. */
export interface StoredRequest {
  token: string
  method: string
  /** Scheme and authority. */
  origin: string
  /** Percent-encoded segments of the path, without the slashes. */
  path: string[]
  /** Percent-encoded `name=value` pairs. */
  query: string[]
  /** Without `host`, `cookie`, and the headers of the connection. */
  headers: Array<[name: string, value: string]>
  host: string | null
  /** `name=value` pairs. */
  cookies: string[]
  body: Body | null
  /** Why the body cannot be sent again; null when nothing is missing. */
  lost: string | null
  gaps: Gap[]
  /** Begins each placeholder. It is random, so that no request can contain it. */
  mark: string
  /** Other differences from the original request. */
  notes: string[]
  /** The address of the client; null when a header names it. */
  ip: string | null
}

/** The profile has no request that could be sent again. */
export class NotSendableError extends Error {}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const ORIGIN = /^https?:\/\/(?:\[[0-9a-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i
// RFC 9110, section 7.6.1, and the headers that every client sets itself.
const CONNECTION_HEADERS = new Set([
  'connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'expect',
  'content-length', 'http2-settings'
])
const FORWARDING = /^(?:forwarded|x-forwarded-.*|x-real-ip)$/
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])
const MAX_DEPTH = 32
/** What a profile writes at the end of a truncated text. */
const TRUNCATED = /… \(([\d,.\s]+ more (?:bytes|characters|items|fields))\)$/
/** What a profile writes in place of a value that it cannot hold. */
const SUBSTITUTE = /^\[(?:binary, \d+ bytes|stream |file |too deep\]|circular\]|unreadable: |function )/

/** Whether a method is safe (RFC 9110, section 9.2.1). */
export function isSafe (method: string): boolean {
  return SAFE.has(method)
}

/** Reads the request of a profile. Throws a `NotSendableError` when the profile has none that could be sent. */
export function storedRequest (profile: Profile): StoredRequest {
  const { token, method, url } = profile
  const data = dataOf(profile, 'request')
  if (!TOKEN.test(method)) throw new NotSendableError('Its method cannot be sent.')
  if (data.rawMessage !== undefined) throw new NotSendableError('It was refused by the HTTP parser.')
  const gaps = new Gaps()
  const notes: string[] = []
  if (Object.keys(data).every((name) => name === 'error')) {
    notes.push('The profile does not have the headers and the body of the request.')
  }
  const [, authority = '', rest = '/'] = /^(https?:\/\/[^/?#]*)?([^]*)$/i.exec(url) ?? []
  if (!ORIGIN.test(authority)) notes.push('The profile does not have the host of the request.')
  const target = typeof data.target === 'string' && data.target.startsWith('/') ? data.target : rest
  const [, path = '', search] = /^([^?]*)(?:\?([^]*))?$/.exec(target) ?? []
  const segments = path.replace(/^\//, '').split('/').map(percentEncoded)
  const pairs = search === undefined ? [] : search.split('&').map(percentEncoded)
  const read = {
    path: segments.map((text, i) => gaps.text(text, `path.${i + 1}`, `part ${i + 1} of the path`, true)),
    query: pairs.map((pair) => gaps.text(pair, `query.${nameOf(pair)}`, `the query parameter ${nameOf(pair)}`)),
    ...readHeaders(data.headers, gaps, notes),
    ...readBody(data, gaps)
  }
  return {
    token,
    method,
    origin: ORIGIN.test(authority) ? authority : 'http://localhost',
    ...read,
    gaps: gaps.list,
    mark: gaps.mark,
    notes,
    ip: read.headers.some(([name]) => FORWARDING.test(name)) ? null : profile.ip
  }
}

/** The placeholder of a gap. It has only letters, digits and underscores, which no format has to encode or quote. */
export function placeholderOf (env: string, { mark }: Pick<StoredRequest, 'mark'>): string {
  return `${mark}${env}z`
}

/** Splits a text at its placeholders: a literal, the `env` of a gap, a literal, and so on. */
export function splitAtGaps (text: string, { mark }: Pick<StoredRequest, 'mark'>): string[] {
  return text.split(new RegExp(`${mark}([A-Z0-9_]+)z`))
}

/** Replaces masked values by placeholders. */
class Gaps {
  readonly list: Gap[] = []
  readonly mark = `gap${randomBytes(8).toString('hex')}`

  /** Texts without a masked value are returned unchanged. */
  text (text: string, name: string, where: string, required = false): string {
    if (!text.includes(MASKED)) return text
    const plain = name.replace(/[^\w.[\]-]/g, '_').slice(0, 80)
    let [free, number] = [plain, 1]
    while (this.list.some(({ env }) => env === envOf(free))) free = `${plain}_${++number}`
    const gap = { name: free, env: envOf(free), where, required }
    this.list.push(gap)
    return text.replaceAll(MASKED, placeholderOf(gap.env, this))
  }
}

function envOf (name: string): string {
  return `HINDSIGHT_${name.toUpperCase().replace(/[^A-Z0-9]+/g, '_').replace(/^_+|_+$/g, '')}`
}

function readHeaders (data: unknown, gaps: Gaps, notes: string[]): Pick<StoredRequest, 'headers' | 'host' | 'cookies'> {
  const read: Pick<StoredRequest, 'headers' | 'host' | 'cookies'> = { headers: [], host: null, cookies: [] }
  const given = Object.entries(isObject(data) ? data : {}).flatMap(([name, values]) =>
    [values].flat().map((value): [string, unknown] => [name.toLowerCase(), value]))
  for (const [name, value] of given) {
    if (CONNECTION_HEADERS.has(name)) continue
    const problem = headerProblem(name, value)
    if (problem !== null) notes.push(`The header ${name.slice(0, 60)} ${problem}.`)
    else if (name === 'host') read.host = ORIGIN.test(`http://${String(value)}`) ? String(value) : null
    else if (name === 'cookie') {
      const pairs = String(value).split(/; */).filter((pair) => pair !== '')
      read.cookies.push(...pairs.map((pair) =>
        gaps.text(pair, `cookie.${nameOf(pair)}`, `the cookie ${nameOf(pair)}`)))
    } else read.headers.push([name, gaps.text(String(value), name, `the header ${name}`)])
  }
  return read
}

function headerProblem (name: string, value: unknown): string | null {
  if (typeof value === 'string' && TRUNCATED.test(value)) return 'was truncated'
  if (typeof value !== 'string' || !TOKEN.test(name) || /[^\t -~\x80-\xff]/.test(value)) return 'cannot be sent'
  return name === 'content-encoding' ? 'is left out, as the body is stored decoded' : null
}

function readBody (data: Data, gaps: Gaps): Pick<StoredRequest, 'body' | 'lost'> {
  const { body = null, bodyCut, bodyNote, files } = data
  const headers = isObject(data.headers) ? data.headers : {}
  const type = String(headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const isJson = /^application\/(?:[\w.+-]+\+)?json$/.test(type)
  const length = Number(headers['content-length'] ?? 0)
  if (typeof bodyCut === 'number') return lost(`it was truncated: about ${grouped(bodyCut)} bytes were left out`)
  if (typeof bodyNote === 'string') return lost(`it was ${bodyNote}`)
  if (Array.isArray(files)) return lost('it had parts, and files are not stored')
  if (body === null && isJson && length === 4) return { body: { kind: 'json', value: null }, lost: null }
  if (body === null) {
    const wasSent = length > 0 || headers['transfer-encoding'] !== undefined
    return wasSent ? lost('it was not read, or not by Fastify, and is not stored') : { body: null, lost: null }
  }
  const loss = lossOf(body)
  if (loss !== null) return lost(loss)
  if (isJson) return { body: { kind: 'json', value: withGaps(body, 'body', gaps) }, lost: null }
  if (typeof body === 'string') return { body: { kind: 'text', text: gaps.text(body, 'body', 'the body') }, lost: null }
  if (type === 'application/x-www-form-urlencoded' && isForm(body)) {
    return { body: { kind: 'form', fields: fieldsOf(body, gaps) }, lost: null }
  }
  return lost(`its text is not stored, only the result of ${type === '' ? 'a parser' : `the parser of ${type}`}`)
}

function lost (reason: string): { body: null, lost: string } {
  return { body: null, lost: reason }
}

/** Why a stored value is not the one that was received; null when it is. */
function lossOf (value: unknown, depth = 0): string | null {
  if (typeof value === 'string') {
    const [, more] = TRUNCATED.exec(value) ?? []
    if (more !== undefined) return `it was truncated: ${more}`
    return SUBSTITUTE.test(value) ? `the profile has in its place only ${value.slice(0, 80)}` : null
  }
  if (typeof value !== 'object' || value === null) return null
  if (depth > MAX_DEPTH) return 'it is nested too deeply'
  if (Object.hasOwn(value, '…')) return 'it was truncated'
  for (const item of Object.values(value)) {
    const loss = lossOf(item, depth + 1)
    if (loss !== null) return loss
  }
  return null
}

function withGaps (value: unknown, path: string, gaps: Gaps): unknown {
  if (typeof value === 'string') return gaps.text(value, path, whereOf(path))
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item, i) => withGaps(item, `${path}[${i}]`, gaps))
  const fields = Object.entries(value).map(([name, item]) => [name, withGaps(item, `${path}.${name}`, gaps)])
  return Object.fromEntries(fields)
}

function whereOf (path: string): string {
  return path === 'body' ? 'the body' : `the field ${path.slice('body.'.length)} of the body`
}

function isForm (value: unknown): value is Data {
  return isObject(value) && Object.values(value).every((item) => [item].flat().every((one) => !isObject(one)))
}

// The parser returns a list for a repeated field.
function fieldsOf (body: Data, gaps: Gaps): Array<[string, string]> {
  return Object.entries(body).flatMap(([name, value]) => [value].flat().map((one): [string, string] =>
    [name, gaps.text(String(one ?? ''), `body.${name}`, whereOf(`body.${name}`))]))
}

function nameOf (pair: string): string {
  const name = pair.split('=', 1)[0] ?? ''
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

// Encodes white space, the quotes of shells, and the braces of templates.
function percentEncoded (text: string): string {
  const encoded = text.toWellFormed().replace(/[^!$&-;=?-Z\\[\]_a-z~%]/gu, (character) => encodeURIComponent(character))
  return encoded.replaceAll('\\', '%5C')
}
