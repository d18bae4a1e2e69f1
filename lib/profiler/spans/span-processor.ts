import { requestContext } from '../../lifecycle/request-state.js'
import { stateOf } from '../../lifecycle/request-state.js'
import { servicesOf } from '../../lifecycle/services.js'
import { SpanLog, type SpanLike } from './span-log.js'

declare module '../../lifecycle/request-state.js' {
  interface RequestState {
    /** The spans that the application's instrumentation started. */
    spans?: SpanLog
  }
}

/** A span processor of OpenTelemetry's SDK, by its shape. */
export interface HindsightSpanProcessor {
  onStart (span: SpanLike): void
  onEnd (span: SpanLike): void
  forceFlush (): Promise<void>
  shutdown (): Promise<void>
}

/**
 * Makes a span processor that shows the spans of the application's instrumentation in the profile of the request in whose
 * asynchronous context they were started: `new NodeTracerProvider({ spanProcessors: [hindsightSpanProcessor(), …] })`.
 * It keeps a reference to a span until the profile is made, and does nothing where no request is observed.
 */
export function hindsightSpanProcessor (): HindsightSpanProcessor {
  let closed = false
  return {
    onStart (span) {
      const context = closed ? undefined : requestContext.getStore()
      if (context === undefined) return
      const { request } = context
      const state = stateOf(request)
      if (!state.observed) return
      if (state.spans === undefined) {
        const log = new SpanLog()
        const { mask } = servicesOf(request)
        state.spans = log
        state.collect('spans', () => log.record(mask, state.startedAt))
      }
      state.spans.add(span)
    },
    // Whether it has ended is read from the span when the profile is made.
    onEnd () {},
    async forceFlush () {},
    async shutdown () { closed = true }
  }
}
