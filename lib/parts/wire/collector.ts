import type { FastifyReply, FastifyRequest } from 'fastify'
import { attempt } from '../../attempt.js'
import { maskOf } from '../../errors/masked-exceptions.js'
import { messageOf, read } from '../../errors/thrown-value.js'
import { invalidHeaders } from '../../http/responses.js'
import { recordingOf } from '../../lifecycle/request-state.js'
import { servicesOf } from '../../lifecycle/services.js'
import type { Mask } from '../../mask/mask.js'
import type { RefusedResponse } from '../../recording/recording.js'
import { safeJson } from '../../view/json.js'
import { cut, visibleLine } from '../../view/visible.js'
import { isObject, type Data } from '../read.js'
import { changesOf, copyOf, isOther, isUnserializable, pathTo, type ValueChange, type Side } from './changes.js'
import { rulesOf, type Rule } from './rules.js'

declare module '../../recording/recording.js' {
  interface Recording {
    /** Whether the body was read and parsed, in debug mode. */
    isParsed?: true
    /** The parts of the request that have a schema, as they were before validation. */
    sent?: Partial<Record<Part, Declared & { value: unknown }>>
    /** Whether they were compared with what the handler received. */
    isCompared?: boolean
    /** What is about to be serialized. */
    returned?: { value: unknown } | undefined
    /** What was changed in the request and in its last response. */
    wireChanges?: Map<Part | 'response', () => WireChange[]>
  }
}

type Part = typeof PARTS[number]

/** A value that was changed, as a sentence, and the address of the keyword of a schema by which it was changed. */
interface WireChange { part: string, text: string, schema?: string }

interface Declared { schema: unknown, name: string }

const PARTS = ['body', 'query', 'params', 'headers'] as const
/** Characters of a response that is compared. */
const MAX_TEXT = 64 * 1024
/** Characters. */
const MAX_VALUE = 100
const MAX_FIELD = 200
/** Names of fields, and levels of objects, in a sentence. */
const MAX_NAMES = 10
const MAX_SHAPE = 2
/** The messages of fast-json-stringify for a field that is missing, and for a value of another type. */
const REFUSED =
  /^(?:"(.+)" is required!|(The value .+ (?:cannot be converted to .+|does not match schema definition)\.?))$/s

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

/** What is done before and after validation, and before and after serialization. */
export const COMPARE = {
  preValidation: rememberSent,
  preHandler: compareReceived,
  preSerialization: rememberReturned,
  onSend: compareSerialized
}

function rememberSent (request: FastifyRequest): void {
  const { schema } = request.routeOptions
  const recording = recordingOf(request)
  recording.isParsed = true
  if (schema === undefined || !recording.isRecording) return
  recording.sent = {}
  for (const part of PARTS) {
    const declared = requestSchema(schema as Data, part, request)
    if (declared.schema !== undefined) recording.sent[part] = { ...declared, value: copyOf(request[part]) }
  }
}

function compareReceived (request: FastifyRequest): void {
  const { sent, isCompared } = recordingOf(request)
  if (sent === undefined || isCompared === true) return
  recordingOf(request).isCompared = true
  for (const part of PARTS) {
    const { [part]: one } = sent
    if (one?.value !== undefined) record(request, part, one, changesOf(one.value, request[part]))
  }
}

function rememberReturned (request: FastifyRequest, _reply: FastifyReply, value: unknown): void {
  const recording = recordingOf(request)
  if (recording.isRecording) recording.returned = { value }
}

function compareSerialized (request: FastifyRequest, reply: FastifyReply, text: unknown): void {
  const recording = recordingOf(request)
  const { returned, wireChanges } = recording
  if (returned === undefined) return
  recording.returned = undefined
  wireChanges?.delete('response')
  if (typeof text !== 'string' || text.length > MAX_TEXT) return
  const declared = responseSchema(request, reply)
  if (declared.schema === undefined && pathTo(returned.value, isOther) === null) return
  const sent = attempt((): unknown => JSON.parse(text))
  if (sent !== undefined) record(request, 'response', declared, changesOf(returned.value, sent, true))
}

/** Why a response was refused; records which of its values could not be serialized. */
export function refusedResponse (
  request: FastifyRequest, reply: FastifyReply, error: unknown
): RefusedResponse | undefined {
  const recording = recordingOf(request)
  const { payloadFrom: hook, returned } = recording
  const code = String(read(error, 'code'))
  // For a HEAD request that Fastify answers as GET, it reads the length of the payload.
  const isOfHead = code === 'ERR_INVALID_ARG_TYPE' && /\bheadRouteOnSendHandler\b/.test(String(read(error, 'stack')))
  const unsendable = UNSENDABLE.get(isOfHead ? 'FST_ERR_REP_INVALID_PAYLOAD_TYPE' : code)
  if (unsendable !== undefined) {
    const isHandlers = hook === undefined && recording.timing.serializeStart === 0 && code.endsWith('_TYPE')
    const type = isHandlers ? reply.getHeader('content-type') : undefined
    const withType = type === undefined ? '' : ` with the content type ${cut(visibleLine(String(type)), MAX_FIELD)}`
    return { why: `cannot be sent${withType}: ${unsendable}`, hook }
  }
  const [[header] = []] = recording.wasSent === true && INVALID_HEADER.test(code) ? invalidHeaders(reply) : []
  if (header !== undefined) {
    const hook = recording.events?.events().findLast((event) =>
      event.changes?.headers?.some(({ name }) => name === header.toLowerCase()))
    return { why: `cannot be sent: its header ${cut(visibleLine(header), MAX_FIELD)} is not valid`, hook }
  }
  if (returned === undefined) return undefined
  const [, required, invalid] = REFUSED.exec(messageOf(error)) ?? []
  const { schema, name } = responseSchema(request, reply)
  // A hook of the route may have given another payload.
  const isKnown = !hasHook(request, 'preSerialization')
  if (schema !== undefined && (required ?? invalid) !== undefined && isKnown) {
    recording.returned = undefined
    const needs = required === undefined ? `refuses a value (${invalid})` : `requires "${required}"`
    const isChanged = recording.events?.events().some(({ stage }) => stage === 'preSerialization')
    const ofHook = hook === undefined ? 'the payload was' : `the ${hook.stage} hook returned`
    const what = `${isChanged === true ? ofHook : 'the handler returned'} ${shapeOf(returned.value)}`
    const explanation = `response schema ${name.slice('response/'.length)} ${needs}; ${what}`
    add(request, 'response', () => [{ part: 'response', text: maskOf(request).text(explanation) }])
    return { why: 'does not fit its schema', hook, explanation }
  }
  const [, rule] = UNSERIALIZABLE.find(([message]) => message.test(messageOf(error))) ?? []
  if (rule === undefined || !(error instanceof TypeError || error instanceof RangeError)) return undefined
  recording.returned = undefined
  // A schema may leave out the first one.
  const path = isKnown && schema === undefined ? pathTo(returned.value, isUnserializable) : null
  if (path !== null) {
    add(request, 'response', () => {
      const field = fieldText('response', path, 1, maskOf(request))
      return [{ part: 'response', text: `${field} could not be serialized (${rule})` }]
    })
  }
  return { why: `cannot be serialized (${rule})`, hook }
}

/** The names of the fields of plain objects and of the first items of lists, as in `{items: [{name}]}`. */
function shapeOf (value: unknown, depth = 0): string {
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[${shapeOf(read(value, '0'), depth + 1)}]`
  if (!isObject(value)) return typeof value
  const names = Object.keys(value)
  const shown = names.slice(0, MAX_NAMES).map((name) => {
    const field: unknown = Object.getOwnPropertyDescriptor(value, name)?.value
    const isNested = depth < MAX_SHAPE && typeof field === 'object' && field !== null
    return cut(visibleLine(name), MAX_FIELD) + (isNested ? `: ${shapeOf(field, depth + 1)}` : '')
  })
  return `{${[...shown, ...names.length > MAX_NAMES ? ['…'] : []].join(', ')}}`
}

function record (
  request: FastifyRequest, part: Part | 'response', { schema, name }: Declared, changes: readonly ValueChange[]
): void {
  if (changes.length === 0) return
  add(request, part, () => {
    const ruleOf = rulesOf(schema, name, request.server.getSchemas() as Data)
    const rules = changes.map(ruleOf)
    // A hook of the route may have given another payload, and a serializer of its own may have made the text.
    const isUnknown = rules.includes(undefined) || hasHook(request, 'preSerialization')
    if (part === 'response' && isUnknown) return []
    // Hooks of the route run after the copy was made.
    if (part !== 'response' && hasHook(request, 'preValidation')) return []
    const validation = { rule: 'validation', schema: name }
    return changes.flatMap((change, i) => {
      const rule = rules[i] ?? validation
      return rule === undefined ? [] : [shownChange(part, change, rule, maskOf(request))]
    })
  })
}

function add (request: FastifyRequest, part: Part | 'response', make: () => WireChange[]): void {
  const recording = recordingOf(request)
  const all = recording.wireChanges ??= new Map()
  all.set(part, make)
  recording.collect('wire', () => {
    const changes = [...all.values()].flatMap((make) => make())
    return changes.length === 0 ? undefined : { changes }
  })
}

function hasHook (request: FastifyRequest, name: string): boolean {
  return servicesOf(request).routeTable.of(request)?.hooks.includes(name) === true
}

function requestSchema (declared: Data, part: Part, request: FastifyRequest): Declared {
  const name = part === 'query' && declared.querystring !== undefined ? 'querystring' : part
  return contentSchema(declared[name], name, request.headers['content-type'])
}

function responseSchema (request: FastifyRequest, reply: FastifyReply): Declared {
  const { response = {} } = (request.routeOptions.schema ?? {}) as { response?: Data }
  const status = String(reply.statusCode)
  const key = [status, `${status.charAt(0)}xx`, 'default'].flatMap((wanted) =>
    Object.keys(response).filter((key) => key.toLowerCase() === wanted)).at(0)
  return contentSchema(response[key ?? ''], `response/${key}`, reply.getHeader('content-type'))
}

/** The schema for a media type, where there are several. */
function contentSchema (schema: unknown, name: string, header: unknown): Declared {
  const content: unknown = isObject(schema) ? schema.content : undefined
  if (!isObject(content)) return { schema, name }
  const type = String(header).split(';', 1).join().trim().toLowerCase()
  const key = Object.hasOwn(content, type) ? type : '*/*'
  return { schema: read(content[key], 'schema'), name: `${name}/content/${key}/schema` }
}

function fieldText (part: string, path: ValueChange['path'], count: number, mask: Mask): string {
  const names = path.map((name) => typeof name === 'string' ? `.${name}` : count > 1 ? '[]' : `[${name}]`)
  return visibleLine(cut(mask.text(part + names.join('')), MAX_FIELD))
}

function shownChange (part: string, change: ValueChange, { rule, schema }: Rule, mask: Mask): WireChange {
  const shown = (side: Side): string => shownSide(side, change, mask)
  const what = {
    changed: () => `: ${shown(change.from)} became ${shown(change.to)}`,
    removed: () => ' was removed',
    added: () => ` was set to ${shown(change.to)}`
  }[change.kind]()
  const times = change.count > 1 ? `, ${change.count} times` : ''
  const text = `${fieldText(part, change.path, change.count, mask)}${what} (${rule})${times}`
  return { part, text, ...(schema !== undefined && { schema: cut(schema, MAX_FIELD) }) }
}

// Masked by the names of the fields around it, and by those beside it.
function shownSide ({ type, copy }: Side, { path, near }: ValueChange, mask: Mask): string {
  if (copy === undefined) return type
  // Longer texts are no names of secrets.
  const beside = Object.entries(near).map(([name, value]: [string, unknown]) =>
    [name, typeof value === 'string' && value.length <= MAX_VALUE ? value : null] as const)
  const siblings = Array.isArray(near) ? beside.map(([, value]) => value) : Object.fromEntries(beside)
  const nested = path.reduceRight<unknown>((inner, name, i) =>
    Object.assign(i === path.length - 1 ? siblings : {}, { [name]: inner }), copy)
  const shown = path.reduce((value, name) => read(value, String(name)), mask.value(nested))
  return visibleLine(cut(safeJson(shown), MAX_VALUE))
}
