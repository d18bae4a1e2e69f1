import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Slot } from '../lib/lifecycle/lifecycle.js'
import { listener, Skip } from '../lib/lifecycle/listener.js'
import { observe } from '../lib/profiler/observation.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { servicesOf } from '../lib/lifecycle/services.js'
import { profilerSettings } from '../lib/profiler/collect-policy.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** False: requests of this route are not profiled. */
    profile?: boolean
  }
}

const notProfiled = new Skip('requests of the profiler itself, of routes with `profile: false` and those that the ' +
  'options leave out are not profiled')

/** Assigns the token of the request's profile, and sends it to clients that may see the debug surface. */
export const profiler = listener('kernel.response', 'profiler', async (app, given) => {
  const { observed, isDebugClient } = app.hindsight
  if (!observed) return 'not in debug mode'
  const settings = profilerSettings(given.profiler)
  if (settings === null) return 'not configured'
  const { openRequestProfiles } = await import('../lib/profiler/request-profiles.js')
  const profiles = openRequestProfiles(app, settings, given, collectIncoming)
  return (request, reply, payload) => {
    stateOf(request).watchBody?.(payload)
    if (!profiles.isProfiled(request, reply)) return notProfiled
    if (!stateOf(request).observed) observeLate(request, reply, payload)
    const token = profiles.begin(request, reply)
    if (isDebugClient(request)) reply.header('x-debug-token', token)
  }
})

// A handler has sent a server error without raising one: the collectors that were skipped run now.
function observeLate (request: FastifyRequest, reply: FastifyReply, payload: unknown): void {
  observe(request, reply)
  collect(() => true, request, reply, payload)
}

/** Records a request that was not observed until its end: a hijacked reply, or an error after the reply. */
function collectIncoming (request: FastifyRequest, isLate: boolean): void {
  const { reply } = stateOf(request)
  if (!isLate || reply === null) return
  collect(({ stage }) => stage === 'kernel.controller', request, reply)
}

function collect (
  isChosen: (slot: Slot) => boolean, request: FastifyRequest, reply: FastifyReply, payload?: unknown
): void {
  for (const slot of servicesOf(request).lifecycle.slots) {
    if (slot.listener.endsWith('-data-collector') && isChosen(slot)) slot.run?.(request, reply, payload)
  }
}
