import type { RequestTrace } from '../recording/trace.js'
import { MASKED, type Mask } from '../mask/mask.js'
import { cutText, isObject, safeJson } from '../view/text.js'
import type { RejectedField, RejectedInput } from './exception.js'
import { copyFields, messageOf } from './thrown-value.js'

const MAX_BODY = 64 * 1024
/** The rule of a message of Nest. */
export const PIPE = 'pipe'
const MAX_FIELDS = 20
/** Characters of a name or value. */
const MAX_VALUE = 200
/** A value in a message, which may be cut. */
const QUOTED = /"[^"]*"?|\[[^\]]*\]?/g
/** Parts of the request by the names that Fastify gives them in `validationContext`. */
const PARTS = new Map<string, 'body' | 'query' | 'params' | 'headers'>([
  ['body', 'body'], ['querystring', 'query'], ['query', 'query'], ['params', 'params'], ['headers', 'headers']
])

/** Copies the JSON body of a request while it is read, so that the page can say why one is invalid. */
export function bufferBody ({ request: { raw, headers }, recording }: RequestTrace): void {
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(headers['content-type'] ?? '')) return
  if (headers['content-encoding'] !== undefined || !(Number(headers['content-length'] ?? 0) <= MAX_BODY)) return
  let length = 0
  // A `data` listener starts the stream: this one is added when the parser adds its own.
  raw.on('newListener', function onListener (event: string) {
    if (event !== 'data') return
    raw.off('newListener', onListener)
    recording.receivedBody = []
    raw.on('data', (chunk: Buffer | string) => {
      length += chunk.length
      if (length > MAX_BODY) recording.receivedBody = null
      recording.receivedBody?.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
    })
  })
}

/** What validators raise: those of Standard Schema, zod and valibot have issues, Joi details. */
interface Rejection extends Record<'validation' | 'issues' | 'details' | 'validationContext', unknown> {
  statusCode?: number
  code?: string
}

/** One error of a validator: that of Ajv has a keyword. */
interface Violation extends Record<'keyword' | 'code' | 'type' | 'path', unknown> {
  instancePath?: string
  params?: Record<string, unknown>
}

/** The input that a schema or the JSON parser rejected, masked; null where neither did. */
export function rejectedInput ({ request, recording, declaredRoute, mask }: RequestTrace): RejectedInput | null {
  const { events, raised, receivedBody } = recording
  try {
    const { code, details, issues, statusCode, validation, validationContext } = Object(raised) as Rejection
    const messages = pipeMessages(raised)
    if (messages.length > 0) return refusedByPipe(request, messages, mask)
    // Fastify answers 500 where a validator throws.
    const violations = validation ?? (statusCode !== 500 && (issues ?? details))
    const part = PARTS.get(String(validationContext))
    if (Array.isArray(violations) && part !== undefined) {
      const fields = violations.slice(0, MAX_FIELDS).map((one) =>
        fieldOf(Object(one) as Violation, request[part], mask))
      return { part, fields }
    }
    if (code !== 'FST_ERR_CTP_INVALID_JSON_BODY' || !receivedBody) return null
    // The parser may have received another text, which a hook has decoded.
    const hasHook = events?.events().some(({ stage }) => stage === 'preParsing')
    if (hasHook === true || declaredRoute?.hooks.includes('preParsing') === true) return null
    const text = Buffer.concat(receivedBody).toString('utf8')
    const malformed = jsonError(text)
    if (malformed === null) return forbiddenField(text, mask)
    return { part: 'body', malformed }
  } catch {
    // Any value can be thrown, also a proxy that cannot be read.
    return null
  }
}

/** The messages in the response of an exception of Nest, such as those of its ValidationPipe; none for other values. */
export function pipeMessages (raised: unknown): string[] {
  const { message } = copyFields(copyFields(raised, ['response']).response, ['message'])
  if (!Array.isArray(message)) return []
  return message.slice(0, MAX_FIELDS).filter((one) => typeof one === 'string')
}

/** Each message begins with the name of its property; null where several parts of the request have it, or none. */
function refusedByPipe (
  request: RequestTrace['request'], messages: readonly string[], mask: Mask
): RejectedInput | null {
  const violations = messages.map((message) => ({ message, path: (/^[^\s:]+/.exec(message)?.[0] ?? '').split('.') }))
  const [part, ...others] = (['body', 'query', 'params'] as const).filter((name) =>
    violations.some(({ path }) => valueAt(path, request[name]) !== undefined))
  if (part === undefined || others.length > 0) return null
  return { part, fields: violations.map((one) => fieldOf({ ...one, keyword: PIPE } as never, request[part], mask)) }
}

function fieldOf (error: Violation, root: unknown, mask: Mask): RejectedField {
  const { code, instancePath = '', keyword = code ?? error.type, params = {}, path: keys } = error
  const text = (value: unknown): string => cutText(mask.text(String(value ?? '')), MAX_VALUE)
  const inner = params.missingProperty ?? params.additionalProperty
  let path = instancePath.split('/').slice(1).map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (Array.isArray(keys)) path = keys.map((key: unknown) => String((Object(key) as { key?: unknown }).key ?? key))
  if (typeof inner === 'string') path.push(inner)
  const rule = text(keyword)
  const value = valueAt(path, root)
  const received = value === undefined ? undefined : cutText(safeJson(maskedAt(path, value, mask)), MAX_VALUE)
  const field = { field: text(path.join('.')) || '(all of it)', ...(received !== undefined && { received }), rule }
  // Messages of zod and Joi have them, too, and the name of the field.
  let message = text(messageOf(error)).replace(QUOTED, (part) =>
    maskedAt(path, part, mask) === MASKED && !path.join('.').endsWith(part.slice(1, -1)) ? MASKED : part)
  // Messages of Ajv do not have them. They are secret where the field is.
  const allowed = params.allowedValues ?? [params.allowedValue]
  if (typeof error.keyword === 'string' && (rule === 'enum' || rule === 'const')) {
    message += `: ${[allowed].flat().map((one) => safeJson(maskedAt(path, one, mask))).join(', ')}`
  }
  return { ...field, message: cutText(message, MAX_VALUE) }
}

function valueAt (path: readonly string[], root: unknown): unknown {
  return path.reduce((value, key) => {
    const fields = Object(value) as Record<string, unknown>
    return Object.hasOwn(fields, key) ? fields[key] : undefined
  }, root)
}

/** A value at a path, masked by the names of all fields on it. */
function maskedAt (path: readonly string[], value: unknown, mask: Mask): unknown {
  const shown = mask.value(path.reduceRight((inner, key) => ({ [key]: inner }), value))
  // The names may be masked, too.
  return path.reduce((inner) => isObject(inner) ? Object.values(inner)[0] : inner, shown)
}

/** The field for which Fastify refuses valid JSON (`onProtoPoisoning`, `onConstructorPoisoning`); null without one. */
function forbiddenField (text: string, mask: Mask): RejectedInput | null {
  const fields: RejectedField[] = []
  JSON.parse(text, (key, value: unknown) => {
    const isForbidden = key === '__proto__' ||
      (key === 'constructor' && Object.hasOwn(Object(value) as object, 'prototype'))
    if (isForbidden && fields.length < MAX_FIELDS) {
      const received = cutText(safeJson(mask.value(value)), MAX_VALUE)
      fields.push({ field: key, received, rule: 'prototype', message: 'no such field: Fastify forbids it' })
    }
    return value
  })
  if (fields.length === 0) return null
  return { part: 'body', fields }
}

/** Why a text is not JSON, in the words of the parser without the text that they quote; null for JSON. */
function jsonError (text: string): string | null {
  try {
    JSON.parse(text)
    return null
  } catch (error) {
    return messageOf(error).replace(/, (?:\.{3})?".*" is not valid JSON$/s, '')
  }
}
