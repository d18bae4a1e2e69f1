import type { RequestTrace } from '../recording/trace.js'
import { MASKED, type Mask } from '../mask/mask.js'
import { formatCount, cutText, formatInteger, isObject, safeJson } from '../view/text.js'
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
  // The values that a schema allows are secret where the field is.
  const isOfField = rule === 'enum' || rule === 'const'
  const field = { field: text(path.join('.')) || '(all of it)', ...(received !== undefined && { received }), rule }
  const isKeyword = typeof error.keyword === 'string'
  const words = isKeyword ? wordsFor(rule, (name) => maskedAt(isOfField ? path : [], params[name], mask)) : null
  if (words === null) {
    // Messages of zod and Joi have them, too, and the name of the field.
    const message = text(messageOf(error)).replace(QUOTED, (part) =>
      maskedAt(path, part, mask) === MASKED && !path.join('.').endsWith(part.slice(1, -1)) ? MASKED : part)
    return { ...field, message }
  }
  const expected = cutText(words, MAX_VALUE)
  // The length of a secret is not shown.
  const got = received?.includes(MASKED) === true ? null : sizeIn(rule, value)
  return { ...field, expected: got === null ? expected : `${expected}, got ${got}` }
}

/** What a keyword of JSON Schema expects, in words; null for one whose message is shown. */
function wordsFor (rule: string, param: (name: string) => unknown): string | null {
  const limit = param('limit')
  switch (rule) {
    case 'minLength': return `at least ${formatCount(Number(limit), 'character')}`
    case 'maxLength': return `at most ${formatCount(Number(limit), 'character')}`
    case 'minItems': return `at least ${formatCount(Number(limit), 'item')}`
    case 'maxItems': return `at most ${formatCount(Number(limit), 'item')}`
    case 'minProperties': return `at least ${formatCount(Number(limit), 'field')}`
    case 'maxProperties': return `at most ${formatCount(Number(limit), 'field')}`
    case 'minimum': return `at least ${String(limit)}`
    case 'maximum': return `at most ${String(limit)}`
    case 'exclusiveMinimum': return `more than ${String(limit)}`
    case 'exclusiveMaximum': return `less than ${String(limit)}`
    case 'multipleOf': return `a multiple of ${String(param('multipleOf'))}`
    case 'type': return [param('type')].flat().join(' or ')
    case 'required': return 'a value: the field is required'
    case 'additionalProperties': return 'no such field: the schema does not have it'
    case 'enum': return `one of ${[param('allowedValues')].flat().map((value) => safeJson(value)).join(', ')}`
    case 'const': return safeJson(param('allowedValue'))
    case 'format': return `the format ${String(param('format'))}`
    case 'pattern': return `a match of ${String(param('pattern'))}`
    default: return null
  }
}

/** The size or the type of a value that a keyword is about. */
function sizeIn (rule: string, value: unknown): string | null {
  // JSON Schema counts code points.
  if (/^m..Length$/.test(rule) && typeof value === 'string') return formatInteger([...value].length)
  if (/^m..Items$/.test(rule) && Array.isArray(value)) return formatInteger(value.length)
  if (rule !== 'type' || value === undefined) return null
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value
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
      fields.push({ field: key, received, rule: 'prototype', expected: 'no such field: Fastify forbids it' })
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
