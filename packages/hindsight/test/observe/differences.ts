import { STATUS_CODES } from 'node:http'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import type { Answer, Exchange, Line } from './exchange.js'
import type { Observation, Observations } from './observe.js'
import { hasFailingHandler, isKept } from './recorder.js'
import { prefersHtml, requestsFor, type TestRequest } from './requests.js'
import { VARIANTS } from './variants.js'

/** What may differ: nothing, or what the debug surface adds for clients that may see it. */
export type Allowed = 'nothing' | 'debug surface'

/** Headers that are added for clients that may see the debug surface. */
export const DEBUG_HEADERS = ['x-debug-token', 'x-debug-token-link']
const TOOLBAR = /<hindsight-toolbar\b[^]*?<\/hindsight-toolbar>/g
/** Headers that are removed from an HTML page with the toolbar. */
export const VALIDATORS = ['etag', 'last-modified', 'accept-ranges']
/** Headers for caches, which keep nothing that has debug data. */
export const CACHING = ['cache-control', 'expires', 'cdn-cache-control', 'surrogate-control', 'edge-control', 'x-accel-expires']
/** Headers of the length of a body. */
export const LENGTH = ['content-length', 'transfer-encoding']
/** Headers that the diagnostic page replaces or removes. */
export const OF_A_PAGE = [
  ...VALIDATORS, ...CACHING, ...LENGTH, 'vary', 'content-type', 'content-encoding', 'content-language', 'content-location', 'content-range',
  'content-disposition', 'content-digest', 'content-md5', 'digest', 'repr-digest', 'location', 'content-security-policy', 'content-security-policy-report-only'
]
/** Characters of a value that are printed, and how many of them precede the first difference. */
const EXCERPT = 140
const BEFORE = 30
/** How many differences at one place are printed. */
const EXAMPLES = 2

/** One difference: at a route, a request or a text of `printRoutes`. */
export interface Difference {
  at: string
  /** The path of a value, such as `answer.headers.vary`. */
  place: string
  change: string
}

/** What differs between a variant `without` Hindsight and the same one `observed`. */
export function differences (name: string, without: Observations, observed: Observations, allowed: Allowed): Difference[] {
  const [one, other] = [without[name], observed[name]]
  if (one === undefined || other === undefined) return [{ at: name, place: 'variant', change: 'was not observed' }]
  if ('failure' in one || 'failure' in other) {
    return [one, other].flatMap((each) => 'failure' in each ? [{ at: name, place: 'variant', change: each.failure }] : [])
  }
  return differencesOf(one, other, requestsFor(VARIANTS[name] ?? {}), allowed)
}

/** One line for all differences at the same place, with the first of them. */
export function summary (found: readonly Difference[]): string[] {
  const byPlace = new Map<string, Difference[]>()
  for (const each of found) {
    const place = each.place.replaceAll(/\[\d+\]/g, '[]')
    byPlace.set(place, [...byPlace.get(place) ?? [], each])
  }
  return [...byPlace].map(
    ([place, all]) => `${all.length} × ${place}: ${all.slice(0, EXAMPLES).map(({ at, place, change }) => `${at}: ${place}: ${change}`).join('; ')}`
  )
}

function differencesOf (without: Observation, observed: Observation, asked: readonly TestRequest[], allowed: Allowed): Difference[] {
  const known = new Map(asked.map((each) => [each.name, each]))
  const hooks = allowed === 'nothing' ? observed.printedWithHooks : withoutOthers(observed.printedWithHooks, without.printedWithHooks)
  const at = (at: string, changes: Change[]): Difference[] => changes.map((change) => ({ at, ...change }))
  return [
    ...at('onRoute', changes('routes', without.routes, observed.routes)),
    ...at('printRoutes()', textChanges('text', without.printed, observed.printed)),
    ...at('printRoutes({ includeHooks: true })', textChanges('text', without.printedWithHooks, hooks)),
    ...Object.entries(without.exchanges).flatMap(([name, { answer, events, lines }]) => {
      const other = observed.exchanges[name]
      const request = known.get(name)
      const [log, otherLog] = [lines, other?.lines].map((each) => allowed === 'nothing' ? each : each?.map(withOwnFrames))
      return at(name, [
        ...(answer === undefined || other?.answer === undefined || request === undefined
          ? []
          : answerChanges(request, { answer, events }, other.answer, allowed)),
        ...changes('events', events, other?.events),
        ...changes('log', log, otherLog)
      ])
    })
  ]
}

/** Whether the diagnostic page replaces the answer for a client that prefers HTML: it is exactly that of Fastify's default handlers. */
export function isDefaultAnswer ({ answer, events }: Pick<Exchange, 'answer' | 'events'>): boolean {
  if (isKept(events) || !answer.headers['content-type']?.includes('application/json')) return false
  const body = readJson(answer)
  const known = ['statusCode', 'code', 'error', 'message']
  return body?.statusCode === answer.status && body.error === STATUS_CODES[answer.status] && typeof body.message === 'string' &&
    Object.keys(body).every((key) => known.includes(key))
}

function answerChanges (asked: TestRequest, without: Pick<Exchange, 'answer' | 'events'>, observed: Answer, allowed: Allowed): Change[] {
  const { answer } = without
  if (allowed === 'nothing' || asked.stranger === true) return changes('answer', readable(answer), readable(observed))
  const seen = withoutHeaders(withoutTokens(asked, observed), DEBUG_HEADERS)
  const isHead = asked.method === 'HEAD'
  const either = asked.either === true || hasFailingHandler(without.events)
  const mayHavePage = prefersHtml(asked) && (either || isDefaultAnswer(without))
  if (mayHavePage && (isHead || isPage(seen))) {
    return [...lengthChanges(asked, seen), ...changes('answer with a page', withoutBody(answer), withoutBody(seen))]
  }
  if (mayHavePage && !either) return [{ place: 'answer', change: `is no diagnostic page: ${excerpt(textOf(readable(seen)))}` }]
  const body = decoded(seen).toString('latin1')
  const rest = body.replaceAll(TOOLBAR, '')
  if (rest === body || !isHtml(seen)) return changes('answer', readable(answer), readable(seen))
  const changed = [...VALIDATORS, ...CACHING, ...LENGTH]
  return [
    ...lengthChanges(asked, seen),
    ...VALIDATORS.filter((name) => name in seen.headers).map((name) => ({ place: `answer with the toolbar.headers.${name}`, change: 'is not removed' })),
    ...textChanges('page without its toolbar', decoded(answer).toString('latin1'), rest),
    ...changes('answer with the toolbar', { ...withoutHeaders(answer, changed), body: '' }, { ...withoutHeaders(seen, changed), body: '' })
  ]
}

// A wrong length shows only on a socket.
function lengthChanges ({ method }: TestRequest, { headers, body }: Answer): Change[] {
  const length = Buffer.from(body, 'base64').length
  const given = headers['content-length']
  return method === 'HEAD' || given === undefined || Number(given) === length
    ? []
    : [{ place: 'answer.headers.content-length', change: `${String(given)} for ${length} bytes` }]
}

function isHtml ({ headers }: Answer): boolean {
  return String(headers['content-type']).startsWith('text/html')
}

/** Whether it is the diagnostic page, whose title ends with the status. */
function isPage (answer: Answer): boolean {
  const text = decoded(answer).toString()
  return isHtml(answer) && /^<!doctype html>/i.test(text) && /<title>[^<]*\((\d{3}) [^<]*\)<\/title>/.exec(text)?.[1] === String(answer.status)
}

function withoutBody (answer: Answer): Answer {
  return { ...withoutHeaders(answer, OF_A_PAGE), body: '' }
}

function withoutHeaders (answer: Answer, names: readonly string[]): Answer {
  return { ...answer, headers: Object.fromEntries(Object.entries(answer.headers).filter(([name]) => !names.includes(name))) }
}

// The body of a raw answer includes the headers.
function withoutTokens ({ via }: TestRequest, answer: Answer): Answer {
  if (via !== 'raw') return answer
  return {
    ...answer,
    body: Buffer.from(Buffer.from(answer.body, 'base64').toString('latin1').replaceAll(/x-debug-token(?:-link)?: [^\r]*\r\n/g, ''), 'latin1').toString('base64')
  }
}

function decoded ({ headers, body }: Answer): Buffer {
  const bytes = Buffer.from(body, 'base64')
  if (bytes.length === 0) return bytes
  switch (headers['content-encoding']) {
    case 'gzip': return gunzipSync(bytes)
    case 'br': return brotliDecompressSync(bytes)
    case 'deflate': return inflateSync(bytes)
    default: return bytes
  }
}

function readJson (answer: Answer): Record<string, unknown> | null {
  try {
    return Object(JSON.parse(decoded(answer).toString())) as Record<string, unknown>
  } catch {
    return null
  }
}

function readable (answer: Answer): unknown {
  return { ...answer, body: decoded(answer).toString('latin1'), bytes: answer.headers['content-encoding'] === undefined ? '' : answer.body }
}

/** In debug mode hooks of Hindsight are on the stack, too: only the frames of the application are compared. */
function withOwnFrames (line: Line): Line {
  const { err } = line as { err?: { stack?: string } }
  if (err?.stack === undefined) return line
  const stack = err.stack.split('\n').filter(
    (text) => !/^ +at /.test(text) || text.includes('/test/observe/routes/') || text.includes('/test/observe/application.ts')
  )
  return { ...line, err: { ...err, stack: stack.join('\n') } }
}

/** Printed routes without hooks that the application does not list there. */
function withoutOthers (printed: string, known: string): string {
  const expected = known.split('\n')
  const lines: string[] = []
  for (const line of printed.split('\n')) {
    const next = expected[lines.length] ?? ''
    if (!/• \(\w+\)/.test(line)) lines.push(line)
    else if (kindOf(line) === kindOf(next)) lines.push(isWithin(hooksOf(next), hooksOf(line)) ? next : line)
  }
  return lines.join('\n')
}

function kindOf (line: string): string | undefined {
  return /• \((\w+)\)/.exec(line)?.[1]
}

function hooksOf (line: string): string[] {
  return JSON.parse(line.slice(line.indexOf('['))) as string[]
}

function isWithin (some: readonly string[], all: readonly string[]): boolean {
  let at = 0
  for (const each of all) if (each === some[at]) at++
  return at === some.length
}

type Change = Omit<Difference, 'at'>

function textChanges (place: string, a: string, b: string): Change[] {
  return changes(place, a.split('\n'), b.split('\n'))
}

/** The places at which two values of JSON differ; of arrays of different lengths the first of them. */
function changes (place: string, a: unknown, b: unknown): Change[] {
  if (a === b) return []
  if (Array.isArray(a) && Array.isArray(b)) {
    const found = a.flatMap((item, index) => index < b.length ? changes(`${place}[${index}]`, item, b[index]) : [])
    if (a.length === b.length) return found
    const [first = { change: `the rest: ${excerpt(textOf([...a.slice(b.length), ...b.slice(a.length)]))}`, place }] = found
    return [{ place, change: `${a.length} → ${b.length} entries, ${first.place}: ${first.change}` }]
  }
  if (isObject(a) && isObject(b)) return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((key) => changes(`${place}.${key}`, a[key], b[key]))
  const [from, to] = [textOf(a), textOf(b)]
  const start = Math.max(0, [...from].findIndex((character, index) => character !== to[index]) - BEFORE)
  return [{ place, change: `${excerpt(from, start)} → ${excerpt(to, start)}` }]
}

function isObject (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textOf (value: unknown): string {
  return JSON.stringify(value) ?? 'none'
}

function excerpt (text: string, start = 0): string {
  const end = start + EXCERPT
  return `${start > 0 ? '…' : ''}${text.slice(start, end)}${end < text.length ? '…' : ''}`
}
