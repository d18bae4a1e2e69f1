import type { FastifyRequest } from 'fastify'
import { listener, OnFailure, Skip } from '../kernel/listener.js'
import { methodOf } from '../kernel/malformed.js'
import { pathnameOf } from '../kernel/origin.js'
import type { StackFrame } from '../diagnostics/exception.js'
import { KnownParts } from '../kernel/known-parts.js'
import type { RouteMatch } from '../kernel/route-config.js'
import { stateOf } from '../kernel/request-state.js'
import type { Wanted } from '../routing/tried-routes.js'

interface Matched {
  matched: object
}

const notObserved = new Skip('the request leaves no profile')

/** Records the route, its parameters and where it was declared; and of the others why they did not take the request. */
export const routerDataCollector = listener('kernel.controller', 'router-data-collector', async (app) => {
  if (!app.hindsight.observed) return 'not in debug mode'
  const { splitStack, stackFrames } = await import('../diagnostics/stack-frame.js')
  const { routesBeside, triedRoutes } = await import('../routing/tried-routes.js')
  const { routeTable, hindsight: { mask } } = app

  const known = new KnownParts<Matched>()

  function matchedRoute (request: FastifyRequest, route: RouteMatch, params: unknown, wanted: Wanted): Matched {
    const declared = routeTable.of(request)
    const frame = declared?.declaredAt == null ? undefined : declarationFrame(declared.declaredAt)
    const { tried } = routesBeside(routeTable.own(), declared, wanted)
    return {
      matched: { ...route, params: mask.value(params), methods: declared?.methods ?? [request.method], ...(frame !== undefined && { handler: `${frame.file}:${frame.line}` }) },
      ...(tried.length > 0 && { tried: tried.map((one) => ({ ...one, why: mask.text(one.why) })) })
    }
  }

  return new OnFailure((request: FastifyRequest) => {
    const state = stateOf(request)
    const { route } = state
    if (!state.observed) return notObserved
    // As they were sent: what converters make of them has a panel of its own.
    const params = state.sentParams ?? route?.params
    const { host = '', 'accept-version': version = '' } = request.headers
    state.collect('router', () => {
      const wanted = { method: methodOf(request), path: pathnameOf(request), host, version: String(version) }
      if (route === null) {
        const { tried, more } = triedRoutes(routeTable.own(), wanted)
        return { matched: null, tried: tried.map((one) => ({ ...one, why: mask.text(one.why) })), ...(more > 0 && { more }) }
      }
      if (Object.keys(params ?? {}).length > 0) return matchedRoute(request, route, params, wanted)
      // Without parameters the same is asked again and again; what else a route may be constrained by belongs to it.
      return known.of(`${route.name}\n${wanted.method} ${wanted.path}\n${host}\n${wanted.version}`, () => matchedRoute(request, route, params, wanted))
    })
  })

  function declarationFrame (declaredAt: Error): StackFrame | undefined {
    let frame = frames.get(declaredAt)
    if (frame === undefined) {
      const { stack = '', message } = declaredAt
      frame = stackFrames(splitStack(stack, message).frames).find(({ own }) => own) ?? null
      frames.set(declaredAt, frame)
    }
    return frame ?? undefined
  }
})

// A stack is read once: a route is declared once, and matched again and again.
const frames = new WeakMap<Error, StackFrame | null>()
