import type { FastifyRequest } from 'fastify'
import { requestContext } from '../../lifecycle/request-state.js'
import { stateOf } from '../../lifecycle/request-state.js'
import { servicesOf } from '../../lifecycle/services.js'
import { watchHttp } from './http-channels.js'
import { OutgoingLog, type Call } from './outgoing-log.js'
import { watchUndici, type Begun } from './undici-channels.js'

declare module '../../lifecycle/request-state.js' {
  interface RequestState {
    /** What the request sent to other servers. */
    outgoing?: OutgoingLog
  }
}

// One subscription for the whole process: what goes out is attributed by the asynchronous context of who sends it.
let watchers = 0
let unwatch: Array<() => void> = []

/** Attributes what is sent by HTTP to the request that is being handled; what is returned ends it, and may be called once. */
export function watchOutgoing (): () => void {
  if (watchers++ === 0) unwatch = [watchUndici(begin), watchHttp(begin)]
  return () => {
    if (--watchers > 0) return
    for (const stop of unwatch) stop()
    unwatch = []
  }
}

// Before anything is made: most of what goes out belongs to nobody who is observed.
function begin (): Begun | null {
  const request = requestContext.getStore()?.request
  return request === undefined || !stateOf(request).observed ? null : (call, hasHeader) => take(request, call, hasHeader)
}

function take (request: FastifyRequest, call: Call, hasHeader: (name: string) => boolean): Record<string, string> | null {
  const { mask } = servicesOf(request)
  const state = stateOf(request)
  if (state.outgoing === undefined) {
    const log = new OutgoingLog()
    state.outgoing = log
    state.collect('http-client', () => log.record(mask, state.startedAt))
  }
  state.outgoing.add(call)
  // A library that traces by itself has its own idea of spans.
  return state.trace == null || hasHeader('traceparent') ? null : state.trace.headers()
}
