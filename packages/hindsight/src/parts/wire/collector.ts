import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { attemptCall, parsedJson } from '../../call.js'
import { performance } from '../../clock.js'
import { LastHook, internalHook } from '../../recording/hooks.js'
import { traceOf, type RequestTrace } from '../../recording/trace.js'
import type { Mask } from '../../mask/mask.js'
import type { Recording, UnvalidatedInput } from '../../recording/recording.js'
import { cutText, presentItems, safeJson, visibleLine } from '../../view/text.js'
import { definePart } from '../part.js'
import { isObject, type Data } from '../read.js'
import { changesOf, copyOf, isOther, pathTo, type ValueChange, type Side } from './changes.js'
import { rulesOf, type Rule } from './rules.js'

type InputPart = typeof PARTS[number]

/** What was changed in the request and in its last response. */
interface WireRecord {
  /** Whether the request was compared with what the handler received. */
  isCompared: boolean
  /** What is about to be serialized. */
  returned?: { value: unknown } | undefined
  readonly changes: Map<InputPart | 'response', () => WireChange[]>
}

/** What validation changed in the request, and serialization in the response. */
export const wireRecord = definePart<WireRecord>({
  name: 'wire',
  data (record) {
    const changes = [...record.changes.values()].flatMap((make) => make())
    if (changes.length === 0) return undefined
    return { changes }
  }
})

/**
 * A value that was changed: as a sentence, by its parts, and the address of the keyword of a schema by which it was
 * changed. Without `before` it was added, without `after` removed.
 */
interface WireChange {
  part: string
  text: string
  field?: string
  before?: string
  after?: string
  rule?: string
  schema?: string
}

type Declared = Omit<UnvalidatedInput, 'value'>

const PARTS = ['body', 'query', 'params', 'headers'] as const
/** Characters of a response that is compared. */
const MAX_TEXT = 64 * 1024
/** Characters. */
const MAX_VALUE = 100
export const MAX_FIELD = 200

type IsLast = (request: FastifyRequest) => boolean

/**
 * Compares messages before and after validation and serialization. Returns the hooks that have to run after those of
 * the application.
 */
export function compareMessages (app: FastifyInstance): Record<'preValidation' | 'preSerialization', LastHook> {
  const attempt = (compare: () => void): void =>
    attemptCall(compare, (error) => app.hindsight.warn('A message was not compared', error))
  const requestHook = (compare: (trace: RequestTrace) => void, isLast: IsLast) =>
    function hindsightReceived (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void {
      const trace = traceOf(request)
      if (isLast(request)) attempt(() => compare(trace))
      done(trace.recording.events?.calledBackWith)
    }
  const payloadHook = (compare: typeof compareSerialized, isLast: IsLast) => function hindsightSent (
    request: FastifyRequest, _reply: FastifyReply, payload: unknown, done: (error: null, payload: unknown) => void
  ): void {
    if (isLast(request)) attempt(() => compare(traceOf(request), payload))
    done(null, payload)
  }
  const last = {
    preValidation: new LastHook('preValidation', (isLast) => requestHook(rememberSent, isLast)),
    preSerialization: new LastHook('preSerialization', (isLast) => payloadHook(rememberReturned, isLast))
  }
  last.preValidation.addTo(app)
  app.addHook('preHandler', internalHook(requestHook(compareReceived, () => true)))
  last.preSerialization.addTo(app)
  app.addHook('onSend', internalHook(payloadHook(compareSerialized, () => true)))
  return last
}

function rememberSent ({ request, recording }: RequestTrace): void {
  const { schema } = request.routeOptions
  recording.timing.parsedAt ||= performance.now()
  if (schema === undefined || !recording.isRecording) return
  recording.unvalidated = {}
  for (const part of PARTS) {
    const declared = requestSchema(schema as Data, part, request)
    if (declared.schema !== undefined) recording.unvalidated[part] = { ...declared, value: copyOf(request[part]) }
  }
}

function compareReceived (trace: RequestTrace): void {
  const { request, recording } = trace
  const { unvalidated } = recording
  if (unvalidated === undefined) return
  const record = wireRecordIn(recording)
  if (record.isCompared) return
  record.isCompared = true
  for (const part of PARTS) {
    const { [part]: one } = unvalidated
    if (one?.value !== undefined) recordChanges(trace, part, one, changesOf(one.value, request[part]))
  }
}

function rememberReturned ({ recording }: RequestTrace, value: unknown): void {
  if (recording.isRecording) wireRecordIn(recording).returned = { value }
}

function compareSerialized (trace: RequestTrace, text: unknown): void {
  const record = wireRecordIn(trace.recording)
  const { returned } = record
  if (returned === undefined) return
  record.returned = undefined
  record.changes.delete('response')
  if (typeof text !== 'string' || text.length > MAX_TEXT) return
  const declared = responseSchema(trace)
  if (declared.schema === undefined && pathTo(returned.value, isOther) === null) return
  const sent = parsedJson(text)
  if (sent !== undefined) recordChanges(trace, 'response', declared, changesOf(returned.value, sent, true))
}

function recordChanges (
  trace: RequestTrace, part: InputPart | 'response', { schema, name }: Declared, changes: readonly ValueChange[]
): void {
  if (changes.length === 0) return
  const { request, recording, mask } = trace
  wireRecordIn(recording).changes.set(part, () => {
    const ruleOf = rulesOf(schema, name, request.server.getSchemas() as Data)
    const rules = changes.map(ruleOf)
    // A hook of the route may have given another payload, and a serializer of its own may have made the text.
    const isUnknown = rules.includes(undefined) || hasHook(trace, 'preSerialization')
    if (part === 'response' && isUnknown) return []
    // Hooks of the route run after the copy was made.
    if (part !== 'response' && hasHook(trace, 'preValidation')) return []
    const validation = { rule: 'validation', schema: name }
    return changes.map((change, i) => shownChange(part, change, rules[i] ?? validation, mask))
  })
}

export function wireRecordIn (recording: Recording): WireRecord {
  return recording.get(wireRecord) ?? recording.set(wireRecord, { isCompared: false, changes: new Map() })
}

export function hasHook ({ declaredRoute }: RequestTrace, name: string): boolean {
  return declaredRoute?.hooks.includes(name) === true
}

function requestSchema (declared: Data, part: InputPart, request: FastifyRequest): Declared {
  const name = part === 'query' && declared.querystring !== undefined ? 'querystring' : part
  return contentSchema(declared[name], name, request.headers['content-type'])
}

export function responseSchema ({ request, reply }: RequestTrace, code = reply.statusCode): Declared {
  const { response = {} } = (request.routeOptions.schema ?? {}) as { response?: Data }
  const status = String(code)
  const key = [status, `${status.charAt(0)}xx`, 'default'].flatMap((wanted) =>
    Object.keys(response).filter((key) => key.toLowerCase() === wanted)).at(0)
  return contentSchema(response[key ?? ''], `response/${key}`, reply.getHeader('content-type'))
}

/** The schema for a media type, where there are several. */
function contentSchema (schema: unknown, name: string, header: unknown): Declared {
  const { content } = Object(schema) as Data
  if (!isObject(content)) return { schema, name }
  const type = String(header).split(';', 1).join().trim().toLowerCase()
  const key = Object.hasOwn(content, type) ? type : '*/*'
  return { schema: (Object(content[key]) as Data).schema, name: `${name}/content/${key}/schema` }
}

export function fieldText (part: string, path: ValueChange['path'], count: number, mask: Mask): string {
  const names = path.map((name) => {
    if (typeof name === 'string') return `.${name}`
    return count > 1 ? '[]' : `[${name}]`
  })
  return visibleLine(cutText(mask.text(part + names.join('')), MAX_FIELD))
}

function shownChange (part: string, change: ValueChange, { rule, schema }: Rule, mask: Mask): WireChange {
  const { kind, path, count } = change
  const field = fieldText(part, path, count, mask)
  const [before, after] = [shownSide(change.from, change, mask), shownSide(change.to, change, mask)]
  const what = {
    changed: `: ${before} became ${after}`,
    removed: ' was removed',
    added: ` was set to ${after}`
  }[kind]
  const text = presentItems([`${field}${what} (${rule})`, count > 1 && `${count} times`]).join(', ')
  return {
    part,
    text,
    field: presentItems([field, count > 1 && `${count} times`]).join(', '),
    ...(kind !== 'added' && { before }),
    ...(kind !== 'removed' && { after }),
    rule,
    ...(schema !== undefined && { schema: cutText(schema, MAX_FIELD) })
  }
}

// Masked by the names of the fields around it, and by those beside it.
function shownSide ({ type, copy }: Side, { path, near }: ValueChange, mask: Mask): string {
  if (copy === undefined) return type
  // Longer texts are no names of secrets.
  const beside = Object.entries(near).map(([name, value]: [string, unknown]) =>
    [name, typeof value === 'string' && value.length <= MAX_VALUE ? value : null] as const)
  const siblings: object = Array.isArray(near) ? beside.map(([, value]) => value) : Object.fromEntries(beside)
  const levels = [...path.slice(1).map(() => ({})), siblings]
  const nested = path.reduceRight<unknown>((inner, name, i) => Object.assign(levels[i] ?? {}, { [name]: inner }), copy)
  let shown = mask.value(nested)
  for (const name of path) {
    if (Object(shown) === shown) shown = (shown as Data)[name]
  }
  return visibleLine(cutText(safeJson(shown), MAX_VALUE))
}
