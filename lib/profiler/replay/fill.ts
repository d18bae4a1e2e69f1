import { MASKED } from '../../mask/mask.js'
import { placeholderOf, splitAtPlaceholders } from './stored-request.js'
import type { Body, MaskedValue, StoredRequest } from './stored-request.js'

/** A request as it is sent. */
export interface FilledRequest {
  method: string
  target: string
  /** Names in lower case; a repeated one has a list. */
  headers: Record<string, string | string[]>
  body?: string
}

/** A required value is missing. */
export class MissingValueError extends Error {
  readonly missing: string

  constructor ({ name, where }: MaskedValue) {
    super(`"${name}" (${where}) is masked in the profile, and the request cannot be sent without it.`)
    this.missing = name
  }
}

/**
 * Puts values, by the names of the masked ones, into a request. Parts without a value are left out; a
 * `MissingValueError` is thrown when the value is required.
 */
export function fillRequest (request: StoredRequest, values: ReadonlyMap<string, string>): FilledRequest {
  const required = request.masked.find((one) => one.required && !values.get(one.name))
  if (required !== undefined) throw new MissingValueError(required)
  const byEnv = new Map(request.masked.map(({ name, env }) => [env, values.get(name) ?? '']))
  const isComplete: IsComplete = (text) => typeof text !== 'string' ||
    splitAtPlaceholders(text).every((part, i) => i % 2 === 0 || byEnv.get(part) !== '')
  const put: Put = (text, encode = (value) => value) =>
    splitAtPlaceholders(text).map((part, i) => i % 2 === 0 ? part : encode(byEnv.get(part) ?? '')).join('')
  const cookies = request.cookies.filter(isComplete).map((pair) => put(pair)).join('; ')
  const headers = new Map<string, string | string[]>()
  if (request.host !== undefined) headers.set('host', request.host)
  for (const [name, value] of request.headers.filter(([, value]) => isComplete(value))) {
    const earlier = headers.get(name)
    headers.set(name, earlier === undefined ? put(value) : [earlier, put(value)].flat())
  }
  if (cookies !== '') headers.set('cookie', cookies)
  const query = request.query.filter(isComplete).map((pair) => put(pair, percentEncoded))
  const path = request.path.map((segment) => put(segment, percentEncoded))
  const body = request.body && bodyText(request.body, isComplete, put)
  return {
    method: request.method,
    target: `/${path.join('/')}${query.length === 0 ? '' : `?${query.join('&')}`}`,
    headers: Object.fromEntries(headers),
    ...(body !== undefined && { body })
  }
}

/** The request for people to read: masked values stay masked. */
export function maskedRequest (request: StoredRequest): FilledRequest {
  return fillRequest(request, new Map(request.masked.map(({ name }) => [name, MASKED])))
}

/** The request with the placeholders in it, for formats that write them in their own way. */
export function requestWithPlaceholders (request: StoredRequest): FilledRequest {
  return fillRequest(request, new Map(request.masked.map(({ name, env }) => [name, placeholderOf(env)])))
}

type IsComplete = (text: unknown) => boolean
type Put = (text: string, encode?: (value: string) => string) => string

function bodyText (body: Body, isComplete: IsComplete, put: Put): string | undefined {
  if (body.kind === 'form') {
    const fields = body.fields.filter(([, value]) => isComplete(value))
    return fields.map(([name, value]) => `${formEncoded(name)}=${put(formEncoded(value), percentEncoded)}`).join('&')
  }
  if (body.kind === 'text') return isComplete(body.text) ? put(body.text) : undefined
  return isComplete(body.value) ? JSON.stringify(filledJson(body.value, isComplete, put)) : undefined
}

function filledJson (value: unknown, isComplete: IsComplete, put: Put): unknown {
  if (typeof value === 'string') return put(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.filter(isComplete).map((item) => filledJson(item, isComplete, put))
  const fields = Object.entries(value).filter(([, item]) => isComplete(item))
  return Object.fromEntries(fields.map(([name, item]) => [name, filledJson(item, isComplete, put)]))
}

function percentEncoded (value: string): string {
  return encodeURIComponent(value.toWellFormed())
}

// As the forms of browsers do (URL Standard, section 5.2).
function formEncoded (text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1)
}
