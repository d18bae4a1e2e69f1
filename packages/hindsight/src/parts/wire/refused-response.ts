import { messageOf, readProperty } from '../../errors/thrown-value.js'
import { invalidHeaders } from '../../http/responses.js'
import { HEAD_HOOK } from '../../lifecycle/hooks.js'
import type { RequestTrace } from '../../lifecycle/state.js'
import type { RefusedResponse } from '../../recording/recording.js'
import { cutText, visibleLine } from '../../view/text.js'
import { isObject } from '../read.js'
import { isUnserializable, pathTo } from './changes.js'
import { fieldText, hasHook, MAX_FIELD, responseSchema, wireRecordIn } from './collector.js'

/** Names of fields, and levels of objects, in a sentence. */
const MAX_NAMES = 10
const MAX_SHAPE = 2
/** The messages of fast-json-stringify for a field that is missing, and for a value of another type. */
const REFUSED =
  /^(?:"(.+)" is required!|The value (.+) (cannot be converted to .+?|does not match schema definition)\.?)$/s

const UNSERIALIZABLE = [
  [/BigInt/, 'JSON has no BigInt'], [/circular/, 'it refers to an object that contains it'],
  [/^Invalid time value$/, 'it has an invalid date']
] as const
/** The codes of Fastify for a payload that it cannot send. */
const UNSENDABLE: ReadonlyMap<string, string> = new Map([
  ['FST_ERR_REP_INVALID_PAYLOAD_TYPE', 'only strings, Buffers and streams can'],
  ['FST_ERR_REP_RESPONSE_BODY_CONSUMED', 'its body has been read'],
  ['FST_ERR_REP_READABLE_STREAM_LOCKED', 'its stream has another reader']
])
/** The codes of Node.js. */
const INVALID_HEADER = /^ERR_(?:INVALID_CHAR|INVALID_HTTP_TOKEN|HTTP_INVALID_HEADER_VALUE)$/

/** Why a response was refused; records which of its values could not be serialized. */
export function refusedResponse (trace: RequestTrace, error: unknown): RefusedResponse | undefined {
  const { request, reply, recording } = trace
  const record = wireRecordIn(recording)
  const { returned } = record
  // A hook of the route may have replaced the payload after it.
  const isLast = !hasHook(trace, 'onSend') && !hasHook(trace, 'preSerialization')
  const hook = isLast ? recording.sending.changedBy : undefined
  const code = String(readProperty(error, 'code'))
  // For a HEAD request that Fastify answers as GET, it reads the length of the payload.
  const isOfHead = code === 'ERR_INVALID_ARG_TYPE' && String(readProperty(error, 'stack')).includes(HEAD_HOOK)
  const unsendable = UNSENDABLE.get(isOfHead ? 'FST_ERR_REP_INVALID_PAYLOAD_TYPE' : code)
  if (unsendable !== undefined) {
    const isHandlers = hook === undefined && recording.timing.serializeStart === 0 && code.endsWith('_TYPE')
    const type = isHandlers ? reply.getHeader('content-type') : undefined
    const withType = type === undefined ? '' : ` with the content type ${cutText(visibleLine(String(type)), MAX_FIELD)}`
    return { why: `cannot be sent${withType}: ${unsendable}`, hook }
  }
  if (code === 'FST_ERR_FAILED_ERROR_SERIALIZATION') {
    const message = messageOf(error)
    const [, reason = message] = /^Failed to serialize an error\. Error: (.*)\. Original error: /s.exec(message) ?? []
    const { schema, name } = responseSchema(trace, recording.failure?.sentStatus)
    const needs = schema === undefined ? undefined : refusedBy(reason)
    const what = needs === undefined
      ? `could not be serialized (${cutText(visibleLine(reason), MAX_FIELD)})`
      : `does not fit ${schemaName(name)}, which ${needs}`
    return { why: `${what}; so 500 was sent` }
  }
  const [[header] = []] = recording.sending.hasResponse && INVALID_HEADER.test(code) ? invalidHeaders(reply) : []
  if (header !== undefined) {
    const hook = recording.events?.events().findLast((event) =>
      event.changes?.headers?.some(({ name }) => name === header.toLowerCase()))
    return { why: `cannot be sent: its header ${cutText(visibleLine(header), MAX_FIELD)} is not valid`, hook }
  }
  if (returned === undefined) return undefined
  const needs = refusedBy(messageOf(error))
  const { schema, name } = responseSchema(trace)
  // A hook of the route may have given another payload.
  const isKnown = !hasHook(trace, 'preSerialization')
  if (schema !== undefined && needs !== undefined && isKnown) {
    record.returned = undefined
    const isChanged = recording.events?.events().some(({ stage }) => stage === 'preSerialization')
    const ofHook = hook === undefined ? 'the payload was' : `the ${hook.stage} hook returned`
    const handler = recording.failure !== null ? 'error handler' : request.is404 ? 'not-found handler' : 'handler'
    const what = `${isChanged === true ? ofHook : `the ${handler} returned`} ${shapeOf(returned.value)}`
    const explanation = `${schemaName(name)} ${needs}; ${what}`
    record.changes.set('response', () => [{ part: 'response', text: trace.mask.text(explanation) }])
    return { why: 'does not fit its schema', hook, explanation }
  }
  const [, rule] = UNSERIALIZABLE.find(([message]) => message.test(messageOf(error))) ?? []
  if (rule === undefined || !(error instanceof TypeError || error instanceof RangeError)) return undefined
  record.returned = undefined
  // A schema may leave out the first one.
  const path = isKnown && schema === undefined ? pathTo(returned.value, isUnserializable) : null
  if (path !== null) {
    record.changes.set('response', () => {
      const field = fieldText('response', path, 1, trace.mask)
      return [{ part: 'response', text: `${field} could not be serialized (${rule})` }]
    })
  }
  return { why: `cannot be serialized (${rule})`, hook }
}

function refusedBy (message: string): string | undefined {
  const [, required, invalid, why] = REFUSED.exec(message) ?? []
  if (required !== undefined) return `requires "${required}"`
  // Of a value that several schemas refuse, the message has its address.
  const what = invalid?.startsWith("of '#") === true ? `the value ${invalid}` : invalid
  return what === undefined ? undefined : `refuses ${what}, which ${why}`
}

function schemaName (name: string): string {
  return `response schema ${name.slice('response/'.length)}`
}

/** The names of the fields of plain objects and of the first items of lists, as in `{items: [{name}]}`. */
function shapeOf (value: unknown, depth = 0): string {
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[${shapeOf(readProperty(value, '0'), depth + 1)}]`
  if (!isObject(value)) return typeof value
  const names = Object.keys(value)
  const shown = names.slice(0, MAX_NAMES).map((name) => {
    const field: unknown = Object.getOwnPropertyDescriptor(value, name)?.value
    const isNested = depth < MAX_SHAPE && typeof field === 'object' && field !== null
    return cutText(visibleLine(name), MAX_FIELD) + (isNested ? `: ${shapeOf(field, depth + 1)}` : '')
  })
  return `{${[...shown, ...names.length > MAX_NAMES ? ['…'] : []].join(', ')}}`
}
