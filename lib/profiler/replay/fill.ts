import { MASKED } from '../../mask/mask.js'
import { placeholderOf, splitAtGaps, type Body, type Gap, type StoredRequest } from './stored-request.js'

/** A request as it is sent. */
export interface FilledRequest {
  method: string
  target: string
  /** Names in lower case; a repeated one has a list. */
  headers: Record<string, string | string[]>
  body: string | null
}

/** A required value is missing. */
export class MissingValueError extends Error {
  readonly gap: string

  constructor ({ name, where }: Gap) {
    super(`"${name}" (${where}) is masked in the profile, and the request cannot be sent without it.`)
    this.gap = name
  }
}

/**
 * Puts values, by the names of the gaps, into a request. Parts without a value are left out; a `MissingValueError` is
 * thrown when the value is required.
 */
export function fillRequest (request: StoredRequest, values: ReadonlyMap<string, string>): FilledRequest {
  const missing = request.gaps.filter(({ name }) => (values.get(name) ?? '') === '')
  const required = missing.find((gap) => gap.required)
  if (required !== undefined) throw new MissingValueError(required)
  const byEnv = new Map(request.gaps.map(({ name, env }) => [env, values.get(name) ?? '']))
  const isComplete: IsComplete = (text) => typeof text !== 'string' ||
    splitAtGaps(text, request).every((part, i) => i % 2 === 0 || byEnv.get(part) !== '')
  const put: Put = (text, encode = (value) => value) =>
    splitAtGaps(text, request).map((part, i) => i % 2 === 0 ? part : encode(byEnv.get(part) ?? '')).join('')
  const headers = new Map<string, string[]>()
  if (request.host !== null) headers.set('host', [request.host])
  for (const [name, value] of request.headers) {
    if (isComplete(value)) headers.set(name, [...headers.get(name) ?? [], put(value)])
  }
  const cookies = request.cookies.filter(isComplete).map((pair) => put(pair))
  if (cookies.length > 0) headers.set('cookie', [cookies.join('; ')])
  const query = request.query.filter(isComplete).map((pair) => put(pair, percentEncoded))
  const path = request.path.map((segment) => put(segment, percentEncoded))
  return {
    method: request.method,
    target: `/${path.join('/')}${query.length === 0 ? '' : `?${query.join('&')}`}`,
    headers: Object.fromEntries([...headers].map(([name, all]) => [name, all.length === 1 ? String(all[0]) : all])),
    body: bodyText(request.body, isComplete, put)
  }
}

/** The request for people to read: masked values stay masked. */
export function maskedRequest (request: StoredRequest): FilledRequest {
  return fillRequest(request, new Map(request.gaps.map(({ name }) => [name, MASKED])))
}

/** The request with the placeholders in it, for formats that write them in their own way. */
export function requestWithPlaceholders (request: StoredRequest): FilledRequest {
  return fillRequest(request, new Map(request.gaps.map(({ name, env }) => [name, placeholderOf(env, request)])))
}

type IsComplete = (text: unknown) => boolean
type Put = (text: string, encode?: (value: string) => string) => string

function bodyText (body: Body | null, isComplete: IsComplete, put: Put): string | null {
  if (body?.kind === 'form') {
    const fields = body.fields.filter(([, value]) => isComplete(value))
    return fields.map(([name, value]) => `${formEncoded(name)}=${put(formEncoded(value), percentEncoded)}`).join('&')
  }
  if (body?.kind === 'text') return isComplete(body.text) ? put(body.text) : null
  return body !== null && isComplete(body.value) ? JSON.stringify(filledJson(body.value, isComplete, put)) : null
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
