import type { FlattenedException } from '../../errors/exception.js'
import type { LogRecord } from '../../logs/log-record.js'
import type { Profile } from '../profile.js'
import type { Section } from './comparison.js'
import { Findings, type Tokens } from './findings.js'
import { leavesOf } from './leaves.js'
import { isPassingField, isPassingHeader, steady } from './steady.js'
import { aligned } from './text-change.js'

type Data = Readonly<Record<string, unknown>>
/** Makes one section of two profiles. */
export type Compare = (a: Profile, b: Profile, tokens: Tokens) => Section

/** Status, route and client: how the request was taken, and how it ended. */
export const outcome: Compare = (a, b, tokens) => {
  const found = new Findings('outcome', 'Status and route', tokens)
  found.values('status', a.status, b.status)
  found.values('route', a.route?.name ?? 'none', b.route?.name ?? 'none')
  found.values('pattern', a.route?.pattern, b.route?.pattern)
  found.values('handler', a.route?.handler, b.route?.handler)
  found.values('client', a.ip, b.ip)
  fields(found, 'parameter', a.route?.params, b.route?.params)
  return found.section
}

/** The chains of exceptions, root cause first. */
export const exceptions: Compare = (a, b, tokens) => {
  const found = new Findings('exceptions', 'Exceptions', tokens)
  const keyOf = (one: FlattenedException, ofB: boolean): string => steady(`${one.name}: ${one.message}`, ofB ? tokens.b : tokens.a)
  for (const [one, other] of aligned(listOf(a.exceptions), listOf(b.exceptions), keyOf, (one, other) => one.name === other.name)) {
    found.values((one ?? other)?.name ?? 'exception', told(one), told(other))
  }
  return found.section
}

function told (exception: FlattenedException | undefined): string | undefined {
  if (exception === undefined) return undefined
  const frames = listOf(exception.frames)
  const frame = frames.find(({ own }) => own) ?? frames[0]
  return `${exception.name}: ${exception.message}${exception.code === undefined ? '' : ` (${exception.code})`}` +
    (frame === undefined ? '' : ` at ${frame.function === '' ? '(anonymous)' : frame.function} ${frame.file}:${frame.line}`)
}

/** Method, URL, headers and cookies of what came in. */
export const request: Compare = (a, b, tokens) => {
  const found = new Findings('request', 'Request', tokens)
  const [one, other] = [dataOf(a, 'request'), dataOf(b, 'request')]
  const [urlA, urlB] = [splitUrl(a.url), splitUrl(b.url)]
  found.values('method', a.method, b.method)
  found.values('origin', urlA.origin, urlB.origin)
  found.values('path', urlA.path, urlB.path)
  found.values('HTTP version', one.httpVersion, other.httpVersion)
  fields(found, 'query', urlA.query, urlB.query)
  headers(found, one.headers, other.headers)
  return found.section
}

/** The body that came in, field by field, and the files in it. */
export const body: Compare = (a, b, tokens) => {
  const found = new Findings('body', 'Body of the request', tokens)
  const [one, other] = [dataOf(a, 'request'), dataOf(b, 'request')]
  if (isNested(one.body) && isNested(other.body)) fields(found, '', one.body, other.body)
  else found.values('body', one.body ?? undefined, other.body ?? undefined)
  fields(found, 'files', one.files, other.files)
  found.values('why there is none', one.bodyNote, other.bodyNote)
  found.values('bytes left out', one.bodyCut, other.bodyCut)
  return found.section
}

/** Headers, type and size of what went out; the body of a response is not kept. */
export const response: Compare = (a, b, tokens) => {
  const found = new Findings('response', 'Response', tokens)
  const [one, other] = [dataOf(a, 'response'), dataOf(b, 'response')]
  headers(found, one.headers, other.headers)
  found.values('size', one.size ?? undefined, other.size ?? undefined)
  found.values('body', one.body, other.body)
  return found.section
}

/** The lines of the log but for what the events tell already. */
export const logs: Compare = (a, b, tokens) => {
  const found = new Findings('logs', 'Logs', tokens)
  const keyOf = (line: LogRecord, ofB: boolean): string => `${line.level} ${line.channel} ${steady(line.message, ofB ? tokens.b : tokens.a)}`
  const isOfOnePlace = (one: LogRecord, other: LogRecord): boolean => one.level === other.level && one.channel === other.channel
  for (const [one, other] of aligned(linesOf(a), linesOf(b), keyOf, isOfOnePlace)) {
    const line = one ?? other
    found.values(`${line?.level} ${line?.channel}`, one?.message, other?.message)
    if (one !== undefined && other !== undefined) fields(found, `context of "${one.message.slice(0, 80)}"`, without(one.context, 'err'), without(other.context, 'err'))
  }
  return found.section
}

/** What a collector has left, field by field. */
export function collector (name: string, label: string): Compare {
  return (a, b, tokens) => {
    const found = new Findings(name, label, tokens)
    fields(found, '', a.collectors[name], b.collectors[name])
    return found.section
  }
}

function linesOf ({ logs }: Profile): LogRecord[] {
  return listOf(logs).filter(({ channel, level }) => channel !== 'event' || !['debug', 'trace'].includes(level))
}

function headers (found: Findings, a: unknown, b: unknown): void {
  const [one, other] = [record(a), record(b)]
  for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
    found.values(`header ${name}`, ownOf(one, name), ownOf(other, name), isPassingHeader(name))
  }
}

function fields (found: Findings, prefix: string, a: unknown, b: unknown): void {
  const [one, other] = [a, b].map((data) => data === undefined ? new Map<string, unknown>() : leavesOf(data)) as [Map<string, unknown>, Map<string, unknown>]
  for (const path of new Set([...one.keys(), ...other.keys()])) {
    found.values(prefix === '' ? path : `${prefix} ${path}`, one.get(path), other.get(path), isPassingField(path))
  }
}

function splitUrl (url: string): { origin: string | undefined, path: string, query: Record<string, string | string[]> | undefined } {
  const [, origin, path = '', search] = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)?([^?#]*)(?:\?([^#]*))?/i.exec(url) ?? []
  if (search === undefined) return { origin, path, query: undefined }
  const pairs = [...new URLSearchParams(search)]
  // A repeated name is a list.
  const query = new Map<string, string | string[]>()
  for (const [name, value] of pairs) query.set(name, query.has(name) ? [query.get(name) ?? [], value].flat() : value)
  return { origin, path, query: Object.fromEntries(query) }
}

function dataOf ({ collectors }: Profile, name: string): Data {
  return record(collectors[name])
}

function record (value: unknown): Data {
  return typeof value === 'object' && value !== null ? value as Data : {}
}

function ownOf (data: Data, name: string): unknown {
  return Object.hasOwn(data, name) ? data[name] : undefined
}

function without (data: unknown, name: string): Data {
  const { [name]: _, ...rest } = record(data)
  return rest
}

function isNested (value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

/** A store may hold what was imported before it was checked in full. */
export function listOf<T> (list: readonly T[] | undefined): readonly T[] & T[] {
  return (Array.isArray(list) ? list.filter((item) => typeof item === 'object' && item !== null) : []) as T[]
}
