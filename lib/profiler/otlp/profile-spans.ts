import { createHash } from 'node:crypto'
import { dataOf, listOf } from '../panels/panel.js'
import { handlerSpans } from '../panels/waterfall.js'
import type { Profile } from '../profile.js'
import { attributesOf, KIND, nameText, nanoseconds, STATUS_ERROR, type OtlpSpan } from './message.js'
import { rootEvents } from './root-events.js'
import { clientAttributes, serverAttributes } from './http-attributes.js'

const HEX_TRACE = /^(?!0+$)[0-9a-f]{32}$/
const HEX_SPAN = /^(?!0+$)[0-9a-f]{16}$/

/** The spans of a profile: one of the request, and below it one of each listener that had something to do, of the handler, and of each call to another server. */
export function profileSpans (profile: Profile): OtlpSpan[] {
  const epoch = Date.parse(profile.time) || 0
  const { traceId, spanId, parentId } = placeOf(profile)
  let index = 0
  const child = (name: string, start: number, duration: number | null, values: Readonly<Record<string, unknown>>, kind: number = KIND.internal, failed = false): OtlpSpan => ({
    traceId,
    spanId: derived(`${traceId} ${spanId} ${index++}`, 16),
    parentSpanId: spanId,
    name: nameText(name),
    kind,
    startTimeUnixNano: nanoseconds(epoch, start),
    endTimeUnixNano: nanoseconds(epoch, start + Math.max(0, duration ?? profile.duration - start)),
    attributes: attributesOf(values),
    events: [],
    status: failed ? { code: STATUS_ERROR } : {}
  })
  return [
    rootSpan(profile, epoch, { traceId, spanId, ...(parentId !== undefined && { parentSpanId: parentId }) }),
    ...listOf(profile.events).filter(({ outcome }) => outcome !== 'skipped').map(({ stage, listener, pass, outcome, start, duration, changes }) => {
      const { headers, status } = (changes ?? {}) as { headers?: unknown, status?: { to?: unknown } }
      const changed = listOf(headers).map(({ name }) => String(name))
      return child(`${String(stage)} ${String(listener)}`, Number(start), Number(duration), {
        'hindsight.stage': stage,
        'hindsight.listener': listener,
        'hindsight.pass': pass,
        'hindsight.outcome': outcome,
        ...(changed.length > 0 && { 'hindsight.changed.headers': changed }),
        'hindsight.changed.status': status?.to
      }, KIND.internal, outcome === 'raised')
    }),
    ...handlerSpans({ ...profile, events: listOf(profile.events) as unknown as Profile['events'] }).map(({ kind, name, start, duration }) => child(name, start, duration, { ...(kind === 'handler' && placeOfHandler(profile)), 'hindsight.part': kind })),
    ...listOf(dataOf(profile, 'http-client').calls).map((call) => {
      const { method, start, duration, status, error } = call
      const failed = error !== undefined || (typeof status === 'number' && status >= 400)
      return child(String(method), Number(start), typeof duration === 'number' ? duration : null, clientAttributes(call), KIND.client, failed)
    })
  ]
}

function placeOfHandler ({ route }: Profile): Record<string, unknown> {
  const [, file, line] = /^(.+):(\d+)$/.exec(String(route?.handler ?? '')) ?? []
  return { 'code.file.path': file, 'code.line.number': line === undefined ? undefined : Number(line) }
}

function rootSpan (profile: Profile, epoch: number, ids: Pick<OtlpSpan, 'traceId' | 'spanId' | 'parentSpanId'>): OtlpSpan {
  const { method, route, status, duration } = profile
  const { events, dropped } = rootEvents(profile, epoch)
  return {
    ...ids,
    name: nameText(`${method}${route == null ? '' : ` ${route.pattern}`}`),
    kind: KIND.server,
    startTimeUnixNano: nanoseconds(epoch),
    endTimeUnixNano: nanoseconds(epoch, duration),
    attributes: attributesOf(serverAttributes(profile)),
    events,
    ...(dropped > 0 && { droppedEventsCount: dropped }),
    // What a client gets wrong is no error of a server's span.
    status: status >= 500 ? { code: STATUS_ERROR } : {}
  }
}

// The trace that the request brought; else that of the application's own instrumentation; else one that comes out the same whenever it is exported.
function placeOf (profile: Profile): { traceId: string, spanId: string, parentId?: string } {
  const { traceId, spanId, parentId } = dataOf(profile, 'trace')
  if (is(HEX_TRACE, traceId) && is(HEX_SPAN, spanId)) return { traceId, spanId, ...(is(HEX_SPAN, parentId) && { parentId }) }
  const seed = `${profile.token} ${profile.time} ${profile.url}`
  const own = derived(`span ${seed}`, 16)
  const spans = listOf(dataOf(profile, 'spans').spans)
  const ids = new Set(spans.map(({ spanId }) => spanId))
  const outermost = spans.find(({ traceId, parentId }) => is(HEX_TRACE, traceId) && !ids.has(parentId))
  if (outermost === undefined) return { traceId: derived(`trace ${seed}`, 32), spanId: own }
  return { traceId: String(outermost.traceId), spanId: own, ...(is(HEX_SPAN, outermost.parentId) && { parentId: outermost.parentId }) }
}

function is (pattern: RegExp, value: unknown): value is string {
  return typeof value === 'string' && pattern.test(value)
}

function derived (seed: string, digits: number): string {
  const hex = createHash('sha256').update(seed).digest('hex').slice(0, digits)
  return /^0+$/.test(hex) ? '1'.repeat(digits) : hex
}
