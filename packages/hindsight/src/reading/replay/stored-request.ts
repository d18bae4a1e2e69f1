import createError from '@fastify/error'
import { HOST_HEADER } from '../../http/debug-access.js'
import { percentDecoded } from '../../http/requests.js'
import { MASKED } from '../../mask/mask.js'
import { dataOf, isObject, type Data } from '../../parts/read.js'
import type { Profile } from '../../store/profile.js'

/** A value that is masked in the profile: it has to be entered again to be sent. */
export interface MaskedValue {
  /** Its place, unique within the request: `authorization`, `cookie.sid`, `query.key`, `body.user.password`. */
  name: string
  env: string
  /** Whether the request cannot be sent without it. Other parts of a request are left out instead. */
  required: boolean
}

/** Returns the value of what is masked; without one, that part of the request is left out. */
export type ValueOf = (masked: MaskedValue) => string | undefined

/** The request of a profile, with values for what is masked in it. */
export interface StoredRequest {
  method: string
  origin: string
  /** The path and the query, percent-encoded. */
  target: string
  /** Names in lower case; a repeated one has a list. Without those of the connection. */
  headers: Record<string, string | string[]>
  body?: string | undefined
  bodyKind?: 'json' | 'form' | 'text'
  /** Why the body cannot be replayed. */
  bodyProblem?: string
  masked: MaskedValue[]
  /** Other differences from the original request, as sentences. */
  notes: string[]
  /** The address of the client, unless a header names it. */
  ip?: string
}

export const NotSendableError =
  createError('HINDSIGHT_NOT_SENDABLE', 'The request of this profile cannot be sent again: %s', 409)

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const ORIGIN = /^https?:\/\/(?:\[[0-9a-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i
// RFC 9110, section 7.6.1, and the headers that every client sets itself.
const CONNECTION_HEADERS = new Set([
  'connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'expect',
  'content-length', 'http2-settings'
])
const FORWARDING = /^(?:forwarded|x-forwarded-.*|x-real-ip)$/
/** The end of a truncated text in a profile. */
const TRUNCATED = /… \([\d,.\s]+ more (?:bytes|characters|items|fields)\)$/
/** The text that replaces a value that has no form in JSON. */
const SUBSTITUTE = /^\[(?:binary, \d+ bytes|stream |file |too deep\]|circular\]|unreadable: |function )/

/** Whether a method is safe (RFC 9110, section 9.2.1; RFC 10008 for QUERY). */
export function isSafe (method: string): boolean {
  return ['GET', 'HEAD', 'OPTIONS', 'QUERY', 'TRACE'].includes(method)
}

/** Whether all that a request names as its host is this machine, or the host by which the application is known. */
export function namesOnlyHost ({ origin, target, headers }: StoredRequest, host: string): boolean {
  const { host: sent = [], forwarded: elements = [] } = headers
  // Some frameworks read X-Host, which no proxy adds.
  const named = Object.entries(headers).filter(([name]) => name === 'x-host' || HOST_HEADER.test(name))
  const ofElements = [elements].flat().flatMap((text) => text.match(/(?<=\bhost=)[^;,]*/gi) ?? [])
  const ofProxies = named.flatMap(([, values]) => values).flatMap((text) => text.split(','))
  const authorities = [origin.replace(/^\w+:\/\//, ''), sent, ofProxies, ofElements].flat()
  return !target.startsWith('//') && authorities.every((authority) => {
    const name = authority.trim().replace(/^"|"$/g, '').replace(/:\d*$/, '').toLowerCase()
    return name === host || /^(?:(?:[\w-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(name)
  })
}

/** Reads the request of a profile. Throws a `NotSendableError` when the profile has none that could be sent. */
export function storedRequest (profile: Profile, valueOf: ValueOf = () => undefined): StoredRequest {
  if (profile.kind !== undefined) throw new NotSendableError('a job has none.')
  const { method, url, ip } = profile
  const data = dataOf(profile, 'request')
  if (!TOKEN.test(method)) throw new NotSendableError('Its method cannot be sent.')
  if (data.rawMessage !== undefined) throw new NotSendableError('It was refused by the HTTP parser.')
  const values = new MaskedValues(valueOf)
  const notes: string[] = []
  const [, authority = '', rest = '/'] = /^(https?:\/\/[^/?#]*)?([^]*)$/i.exec(url) ?? []
  const sent = typeof data.target === 'string' && data.target.startsWith('/') ? data.target : rest
  const [, path = '', search] = /^([^?]*)(?:\?([^]*))?$/.exec(sent) ?? []
  const segments = path.replace(/^\//, '').split('/').map(percentEncoded).map((text, i) =>
    text.replaceAll(MASKED, () => values.replace(MASKED, `path.${i + 1}`, encodedValue) ?? MASKED))
  const query = (search?.split('&') ?? []).map(percentEncoded)
    .flatMap((pair) => values.replaceInPair(pair, 'query', encodedValue) ?? [])
  let target = `/${segments.join('/')}`
  if (query.length > 0) target += `?${query.join('&')}`
  const headers = readHeaders(data.headers, values, notes)
  return {
    method,
    origin: ORIGIN.test(authority) ? authority : 'http://localhost',
    target,
    headers,
    ...readBody(data, values),
    masked: values.masked,
    notes,
    ...(!Object.keys(headers).some((name) => FORWARDING.test(name)) && { ip })
  }
}

/** Replaces the masked values of texts. */
class MaskedValues {
  readonly masked: MaskedValue[] = []
  readonly #valueOf: ValueOf

  constructor (valueOf: ValueOf) {
    this.#valueOf = valueOf
  }

  /** Undefined where the masked value has none; a text without one is returned unchanged. */
  replace (text: string, name: string, encode = (value: string): string => value): string | undefined {
    if (!text.includes(MASKED)) return text
    const plain = name.replace(/[^\w.[\]-]/g, '_').slice(0, 80)
    let [free, number] = [plain, 1]
    while (this.masked.some(({ env }) => env === envOf(free))) free = `${plain}_${++number}`
    const masked = { name: free, env: envOf(free), required: name.startsWith('path.') }
    this.masked.push(masked)
    const value = this.#valueOf(masked)
    if (!value) return undefined
    return text.replaceAll(MASKED, () => encode(value))
  }

  replaceInPair (pair: string, kind: string, encode?: (value: string) => string): string | undefined {
    const [name = ''] = pair.split('=', 1)
    return this.replace(pair, `${kind}.${percentDecoded(name) ?? name}`, encode)
  }

  /** JSON leaves out the properties of objects that are undefined. */
  replaceInBody (value: unknown, path = 'body'): unknown {
    if (typeof value === 'string') return this.replace(value, path)
    if (Array.isArray(value)) {
      return value.map((item, i) => this.replaceInBody(item, `${path}[${i}]`)).filter((item) => item !== undefined)
    }
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, item]) =>
      [name, this.replaceInBody(item, `${path}.${name}`)]))
  }
}

function envOf (name: string): string {
  return `HINDSIGHT_${name.toUpperCase().replace(/[^A-Z0-9]+/g, '_').replace(/^_|_$/g, '')}`
}

function readHeaders (data: unknown, values: MaskedValues, notes: string[]): StoredRequest['headers'] {
  const headers = new Map<string, string | string[]>()
  const cookies: string[] = []
  for (const [name, given] of headerPairs(data).filter(([name]) => !CONNECTION_HEADERS.has(name))) {
    const problem = headerProblem(name, given)
    const text = String(given)
    if (problem !== undefined) notes.push(`The header ${name.slice(0, 60)} ${problem}.`)
    else if (name === 'cookie') {
      const pairs = text.split(/; */).filter(Boolean)
      cookies.push(...pairs.flatMap((pair) => values.replaceInPair(pair, 'cookie') ?? []))
    } else {
      const [value, earlier] = [values.replace(text, name), headers.get(name)]
      if (value !== undefined) headers.set(name, earlier === undefined ? value : [earlier, value].flat())
    }
  }
  if (cookies.length > 0) headers.set('cookie', cookies.join('; '))
  return Object.fromEntries(headers)
}

/** The headers of a message as pairs, with their names in lower case; a repeated one has several. */
export function headerPairs (data: unknown): Array<[name: string, value: unknown]> {
  return Object.entries(isObject(data) ? data : {}).flatMap(([name, values]) =>
    [values].flat().map((value): [string, unknown] => [name.toLowerCase(), value]))
}

function headerProblem (name: string, value: unknown): string | undefined {
  if (typeof value !== 'string' || !TOKEN.test(name)) return 'cannot be sent'
  if (TRUNCATED.test(value)) return 'was truncated'
  if (name === 'content-encoding') return 'is left out, as the body is stored decoded'
  const isValid = name === 'host' ? ORIGIN.test(`http://${value}`) : !/[^\t -~\x80-\xff]/.test(value)
  if (!isValid) return 'cannot be sent'
  return undefined
}

function readBody (data: Data, values: MaskedValues): Pick<StoredRequest, 'body' | 'bodyKind' | 'bodyProblem'> {
  // Validation and hooks may have changed what the handler received.
  const body = data.sentBody ?? data.body
  const headers = isObject(data.headers) ? data.headers : {}
  const type = String(headers['content-type'] ?? '').split(';', 1).join().trim().toLowerCase()
  const bodyProblem = typeof data.bodyNote === 'string' ? `it was ${data.bodyNote}` : changeOf(body)
  if (bodyProblem !== undefined) return { bodyProblem }
  if (body === null || body === undefined) {
    const wasSent = Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined
    if (wasSent) return { bodyProblem: 'it was not read, or not by Fastify, and is not stored' }
    return {}
  }
  if (/^application\/(?:[\w.+-]+\+)?json$/.test(type)) {
    return { body: JSON.stringify(values.replaceInBody(body)), bodyKind: 'json' }
  }
  if (typeof body === 'string') return { body: values.replace(body, 'body'), bodyKind: 'text' }
  const isForm = isObject(body) && Object.values(body).every((item) => [item].flat().every((one) => !isObject(one)))
  if (type === 'application/x-www-form-urlencoded' && isForm) {
    const fields = new URLSearchParams()
    for (const [name, all] of Object.entries(body)) {
      // The parser returns a list for a repeated field.
      for (const one of [all].flat()) {
        const value = values.replace(String(one ?? ''), `body.${name}`)
        if (value !== undefined) fields.append(name, value)
      }
    }
    return { body: String(fields), bodyKind: 'form' }
  }
  return { bodyProblem: 'its text is not stored, only the result of its parser' }
}

/** Why a stored body is not the one that was received. */
function changeOf (body: unknown): string | undefined {
  let problem: string | undefined
  JSON.stringify(body, (name, value: unknown) => {
    if (name === '…' || (typeof value === 'string' && TRUNCATED.test(value))) problem ??= 'it was truncated'
    else if (typeof value === 'string' && SUBSTITUTE.test(value)) {
      problem ??= `the profile has in its place only ${value.slice(0, 80)}`
    }
    return value
  })
  return problem
}

// Encodes white space, the quotes of shells, and the braces of templates.
function percentEncoded (text: string): string {
  const encoded = text.toWellFormed().replace(/[^!$&-;=?-Z\\[\]_a-z~%]/gu, (character) => encodeURIComponent(character))
  return encoded.replaceAll('\\', '%5C')
}

function encodedValue (value: string): string {
  return encodeURIComponent(value.toWellFormed())
}
