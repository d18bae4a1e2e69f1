import { ownVersions } from '../configuration/versions.js'
import { dataOf, listOf } from '../panels/panel.js'
import type { Profile } from '../profile.js'
import { attributesOf, KIND, nameText, nanoseconds, STATUS_ERROR, type OtlpSpan, type TraceRequest } from './message.js'
import { profileSpans } from './profile-spans.js'

const SCOPE = 'fastify-hindsight'
let version = ''

/** What a collector is sent of some profiles; with `instrumented` the spans of the application's own instrumentation too, which has otherwise sent them itself. */
export function traceRequest (profiles: readonly Profile[], resource: Readonly<Record<string, unknown>>, { instrumented = false } = {}): TraceRequest {
  if (version === '') ({ version } = ownVersions())
  const scopes = new Map<string, OtlpSpan[]>()
  for (const profile of instrumented ? profiles : []) {
    for (const [scope, span] of instrumentedSpans(profile)) scopes.set(scope, [...scopes.get(scope) ?? [], span])
  }
  return {
    resourceSpans: [{
      resource: { attributes: attributesOf(resource) },
      scopeSpans: [
        { scope: { name: SCOPE, version }, spans: profiles.flatMap(profileSpans) },
        ...[...scopes].map(([name, spans]) => ({ scope: { name }, spans }))
      ]
    }]
  }
}

function instrumentedSpans (profile: Profile): Array<[scope: string, span: OtlpSpan]> {
  const epoch = Date.parse(profile.time) || 0
  return listOf(dataOf(profile, 'spans').spans)
    .filter(({ traceId, spanId }) => /^[0-9a-f]{32}$/.test(String(traceId)) && /^[0-9a-f]{16}$/.test(String(spanId)))
    .map(({ traceId, spanId, parentId, name, kind, scope, start, duration, error, attributes, events }) => {
      const end = Number(start) + (typeof duration === 'number' ? duration : Math.max(0, profile.duration - Number(start)))
      return [nameText(String(scope ?? '')), {
        traceId: String(traceId),
        spanId: String(spanId),
        ...(/^[0-9a-f]{16}$/.test(String(parentId)) && { parentSpanId: String(parentId) }),
        name: nameText(String(name)),
        kind: KIND[kind as keyof typeof KIND] ?? KIND.internal,
        startTimeUnixNano: nanoseconds(epoch, Number(start)),
        endTimeUnixNano: nanoseconds(epoch, end),
        attributes: attributesOf((attributes ?? {}) as Record<string, unknown>),
        events: listOf(events).map((event) => ({ timeUnixNano: nanoseconds(epoch, end), name: nameText(String(event.name)), attributes: attributesOf((event.attributes ?? {}) as Record<string, unknown>) })),
        status: error === undefined ? {} : { code: STATUS_ERROR, message: nameText(String(error)) }
      }]
    })
}
