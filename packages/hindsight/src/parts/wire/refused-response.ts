import { codeOf, messageOf, textOfStack } from '../../errors/thrown-value.js'
import { invalidHeaders } from '../../http/responses.js'
import { HEAD_HOOK } from '../../recording/hooks.js'
import type { RequestTrace } from '../../recording/trace.js'
import type { RefusedResponse } from '../../recording/recording.js'
import { cutText, presentItems, visibleLine } from '../../view/text.js'
import { handlerName } from '../collect.js'
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
  const { reply, recording } = trace
  const code = codeOf(error)
  // A hook of the route may have replaced the payload after it.
  const isLast = !hasHook(trace, 'onSend') && !hasHook(trace, 'preSerialization')
  const hook = isLast ? recording.sending.changedBy : undefined
  // For a HEAD request that Fastify answers as GET, it reads the length of the payload.
  const isOfHead = code === 'ERR_INVALID_ARG_TYPE' && textOfStack(error as object).includes(HEAD_HOOK)
  const unsendable = UNSENDABLE.get(isOfHead ? 'FST_ERR_REP_INVALID_PAYLOAD_TYPE' : code)
  if (unsendable !== undefined) {
    const isHandlers = hook === undefined && recording.timing.serializeStart === 0 && code.endsWith('_TYPE')
    const type = reply.getHeader('content-type')
    if (!isHandlers || type === undefined) return { why: `cannot be sent: ${unsendable}`, hook }
    return { why: `cannot be sent with the content type ${boundedLine(String(type))}: ${unsendable}`, hook }
  }
  if (code === 'FST_ERR_FAILED_ERROR_SERIALIZATION') return { why: `${errorProblem(trace, error)}; so 500 was sent` }
  const isOfHeader = recording.sending.hasResponse && INVALID_HEADER.test(code)
  const [[header] = []] = isOfHeader ? invalidHeaders(reply) : []
  if (header === undefined) return refusedPayload(trace, error, hook)
  const setter = recording.events?.events().findLast((event) =>
    event.changes?.headers?.some(({ name }) => name === header.toLowerCase()))
  return { why: `cannot be sent: its header ${boundedLine(header)} is not valid`, hook: setter }
}

function errorProblem (trace: RequestTrace, error: unknown): string {
  const message = messageOf(error)
  const [, reason = message] = /^Failed to serialize an error\. Error: (.*)\. Original error: /s.exec(message) ?? []
  const { schema, name } = responseSchema(trace, trace.recording.failure?.sentStatus)
  const needs = refusedBy(reason)
  if (schema === undefined || needs === undefined) return `could not be serialized (${boundedLine(reason)})`
  return `does not fit ${schemaName(name)}, which ${needs}`
}

function refusedPayload (
  trace: RequestTrace, error: unknown, hook: RefusedResponse['hook']
): RefusedResponse | undefined {
  const record = wireRecordIn(trace.recording)
  const { returned } = record
  if (returned === undefined) return undefined
  const needs = refusedBy(messageOf(error))
  const { schema, name } = responseSchema(trace)
  // A hook of the route may have given another payload.
  const isKnown = !hasHook(trace, 'preSerialization')
  if (schema !== undefined && needs !== undefined && isKnown) {
    record.returned = undefined
    const explanation = `${schemaName(name)} ${needs}; ${makerOf(trace, hook)} ${shapeOf(returned.value)}`
    record.changes.set('response', () => [{ part: 'response', text: trace.mask.text(explanation) }])
    return { why: 'does not fit its schema', hook, explanation }
  }
  const [, rule] = UNSERIALIZABLE.find(([message]) => message.test(messageOf(error))) ?? []
  if (rule === undefined || !(error instanceof TypeError || error instanceof RangeError)) return undefined
  record.returned = undefined
  const path = pathTo(returned.value, isUnserializable)
  // A schema may leave out the first one.
  if (isKnown && schema === undefined && path !== null) {
    record.changes.set('response', () => {
      const field = fieldText('response', path, 1, trace.mask)
      return [{ part: 'response', text: `${field} could not be serialized (${rule})` }]
    })
  }
  return { why: `cannot be serialized (${rule})`, hook }
}

/** What made a payload that was serialized: the handler, or a hook. */
function makerOf (trace: RequestTrace, hook: RefusedResponse['hook']): string {
  const isChanged = trace.recording.events?.events().some(({ stage }) => stage === 'preSerialization')
  if (isChanged !== true) return `the ${handlerName(trace)} returned`
  if (hook === undefined) return 'the payload was'
  return `the ${hook.stage} hook returned`
}

function refusedBy (message: string): string | undefined {
  const [, required, invalid, why] = REFUSED.exec(message) ?? []
  if (required !== undefined) return `requires "${required}"`
  if (invalid === undefined) return undefined
  // Of a value that several schemas refuse, the message has its address.
  if (invalid.startsWith("of '#")) return `refuses the value ${invalid}, which ${why}`
  return `refuses ${invalid}, which ${why}`
}

function boundedLine (text: string): string {
  return cutText(visibleLine(text), MAX_FIELD)
}

function schemaName (name: string): string {
  return `response schema ${name.slice('response/'.length)}`
}

/** The names of the fields of plain objects and of the first items of lists, as in `{items: [{name}]}`. */
function shapeOf (value: unknown, depth = 0): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]'
    return `[${shapeOf(Object.getOwnPropertyDescriptor(value, 0)?.value, depth + 1)}]`
  }
  if (!isObject(value)) return typeof value
  const names = Object.keys(value)
  const shown = names.slice(0, MAX_NAMES).map((name) => {
    const field: unknown = Object.getOwnPropertyDescriptor(value, name)?.value
    if (typeof field !== 'object' || field === null || depth >= MAX_SHAPE) return boundedLine(name)
    return `${boundedLine(name)}: ${shapeOf(field, depth + 1)}`
  })
  return `{${presentItems([...shown, names.length > MAX_NAMES && '…']).join(', ')}}`
}
