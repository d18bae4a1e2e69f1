import { randomBytes } from 'node:crypto'
import createError from '@fastify/error'
import { percentDecoded } from '../../http/header-text.js'
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

export type Body =
  | { kind: 'json', value: unknown }
  /** Encoded `name=value` pairs. */
  | { kind: 'form', pairs: string[] }
  | { kind: 'text', text: string }

/** The request of a profile with placeholders for its masked values. */
export interface StoredRequest {
  method: string
  origin: string
  /** Percent-encoded. */
  path: string
  /** Percent-encoded `name=value` pairs. */
  query: string[]
  /** Without `cookie` and the headers of the connection. */
  headers: Array<[name: string, value: string]>
  /** `name=value` pairs. */
  cookies: string[]
  body?: Body
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

/** Begins each placeholder. It is random, so that no request can contain it. */
const MARK = `masked${randomBytes(8).toString('hex')}`
const PLACEHOLDER = new RegExp(`${MARK}([A-Z0-9_]+)z`)

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

/** Whether a method is safe (RFC 9110, section 9.2.1). */
export function isSafe (method: string): boolean {
  return ['GET', 'HEAD', 'OPTIONS', 'TRACE'].includes(method)
}

/** Reads the request of a profile. Throws a `NotSendableError` when the profile has none that could be sent. */
export function storedRequest (profile: Profile): StoredRequest {
  const { method, url, ip } = profile
  const data = dataOf(profile, 'request')
  if (!TOKEN.test(method)) throw new NotSendableError('Its method cannot be sent.')
  if (data.rawMessage !== undefined) throw new NotSendableError('It was refused by the HTTP parser.')
  const placeholders = new Placeholders()
  const notes: string[] = []
  const [, authority = '', rest = '/'] = /^(https?:\/\/[^/?#]*)?([^]*)$/i.exec(url) ?? []
  const target = typeof data.target === 'string' && data.target.startsWith('/') ? data.target : rest
  const [, path = '', search] = /^([^?]*)(?:\?([^]*))?$/.exec(target) ?? []
  const segments = path.replace(/^\//, '').split('/').map(percentEncoded)
  const pairs = (search?.split('&') ?? []).map(percentEncoded)
  const read = {
    path: `/${segments.map((text, i) =>
      text.replaceAll(MASKED, () => placeholders.replace(MASKED, `path.${i + 1}`))).join('/')}`,
    query: pairs.map((pair) => placeholders.replaceInPair(pair, 'query')),
    ...readHeaders(data.headers, placeholders, notes),
    ...readBody(data, placeholders)
  }
  return {
    method,
    origin: ORIGIN.test(authority) ? authority : 'http://localhost',
    ...read,
    masked: placeholders.masked,
    notes,
    ...(!read.headers.some(([name]) => FORWARDING.test(name)) && { ip })
  }
}

/** The placeholder of a masked value. No format has to encode or quote its letters, digits and underscores. */
export function placeholderOf (env: string): string {
  return `${MARK}${env}z`
}

/** Splits a text at its placeholders: a literal, the `env` of a masked value, a literal, and so on. */
export function splitAtPlaceholders (text: string): string[] {
  return text.split(PLACEHOLDER)
}

class Placeholders {
  readonly masked: MaskedValue[] = []

  /** Replaces the masked value of a text; a text without one is returned unchanged. */
  replace (text: string, name: string): string {
    if (!text.includes(MASKED)) return text
    const plain = name.replace(/[^\w.[\]-]/g, '_').slice(0, 80)
    let [free, number] = [plain, 1]
    while (this.masked.some(({ env }) => env === envOf(free))) free = `${plain}_${++number}`
    const env = envOf(free)
    this.masked.push({ name: free, env, required: name.startsWith('path.') })
    return text.replaceAll(MASKED, placeholderOf(env))
  }

  replaceInPair (pair: string, kind: string): string {
    const [name = ''] = pair.split('=', 1)
    return this.replace(pair, `${kind}.${percentDecoded(name) ?? name}`)
  }

  replaceInBody (value: unknown, path = 'body'): unknown {
    if (typeof value === 'string') return this.replace(value, path)
    if (Array.isArray(value)) return value.map((item, i) => this.replaceInBody(item, `${path}[${i}]`))
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, item]) =>
      [name, this.replaceInBody(item, `${path}.${name}`)]))
  }
}

function envOf (name: string): string {
  return `HINDSIGHT_${name.toUpperCase().replace(/[^A-Z0-9]+/g, '_').replace(/^_+|_+$/g, '')}`
}

function readHeaders (
  data: unknown, placeholders: Placeholders, notes: string[]
): Pick<StoredRequest, 'headers' | 'cookies'> {
  const headers: StoredRequest['headers'] = []
  const cookies: string[] = []
  for (const [name, value] of headerPairs(data).filter(([name]) => !CONNECTION_HEADERS.has(name))) {
    const problem = headerProblem(name, value)
    const text = String(value)
    if (problem !== undefined) notes.push(`The header ${name.slice(0, 60)} ${problem}.`)
    else if (name !== 'cookie') headers.push([name, placeholders.replace(text, name)])
    else cookies.push(...text.split(/; */).filter(Boolean).map((pair) => placeholders.replaceInPair(pair, 'cookie')))
  }
  return { headers, cookies }
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
  return isValid ? undefined : 'cannot be sent'
}

function readBody (recorded: Data, placeholders: Placeholders): Pick<StoredRequest, 'body' | 'bodyProblem'> {
  // Validation and hooks may have changed what the handler received.
  const body = recorded.sentBody ?? recorded.body
  const data: Data = { ...recorded, body }
  const headers = isObject(data.headers) ? data.headers : {}
  const type = String(headers['content-type'] ?? '').split(';', 1).join().trim().toLowerCase()
  const bodyProblem = bodyProblemOf(data)
  if (bodyProblem !== undefined) return { bodyProblem }
  if (body === null || body === undefined) {
    const wasSent = Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined
    return wasSent ? { bodyProblem: 'it was not read, or not by Fastify, and is not stored' } : {}
  }
  if (/^application\/(?:[\w.+-]+\+)?json$/.test(type)) {
    return { body: { kind: 'json', value: placeholders.replaceInBody(body) } }
  }
  if (typeof body === 'string') return { body: { kind: 'text', text: placeholders.replace(body, 'body') } }
  if (type === 'application/x-www-form-urlencoded' && isForm(body)) {
    // The parser returns a list for a repeated field.
    const fields = Object.entries(body).flatMap(([name, values]) =>
      [values].flat().map((value) => [name, placeholders.replace(String(value ?? ''), `body.${name}`)]))
    return { body: { kind: 'form', pairs: new URLSearchParams(fields).toString().split('&') } }
  }
  return { bodyProblem: 'its text is not stored, only the result of its parser' }
}

/** Why a stored body is not the one that was received. */
function bodyProblemOf ({ body, bodyNote }: Data): string | undefined {
  if (typeof bodyNote === 'string') return `it was ${bodyNote}`
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

function isForm (value: unknown): value is Data {
  return isObject(value) && Object.values(value).every((item) => [item].flat().every((one) => !isObject(one)))
}

// Encodes white space, the quotes of shells, and the braces of templates.
function percentEncoded (text: string): string {
  const encoded = text.toWellFormed().replace(/[^!$&-;=?-Z\\[\]_a-z~%]/gu, (character) => encodeURIComponent(character))
  return encoded.replaceAll('\\', '%5C')
}
