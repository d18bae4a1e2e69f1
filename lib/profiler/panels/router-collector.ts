import type { FastifyInstance, FastifyRequest } from 'fastify'
import { declaredPlace } from '../../errors/declared-place.js'
import { methodOf } from '../../http/method-override.js'
import { pathnameOf } from '../../http/request-target.js'
import { stateOf } from '../../lifecycle/request-state.js'
import type { RouteMatch } from '../../lifecycle/request-state.js'
import { routesBeside, triedRoutes, type Wanted } from '../../routing/tried-routes.js'

/** Returns the function that records the matched route and why other routes did not match. */
export function routeCollector ({ hindsight }: FastifyInstance): (request: FastifyRequest) => void {
  const { routeTable, mask } = hindsight
  return (request) => {
    const state = stateOf(request)
    // The router's finish listener clears the route before the profile is built.
    const { route } = state
    // As sent: the params panel shows converted values.
    const params = state.sentParams ?? route?.params
    state.collect('router', () => {
      const { host = '', 'accept-version': version = '' } = request.headers
      const wanted: Wanted = { method: methodOf(request), path: pathnameOf(request), host, version: String(version) }
      if (route !== null) return matchedRoute(request, route, params, wanted)
      const { tried, more } = triedRoutes(routeTable.own(), wanted)
      return { matched: null, tried: masked(tried), ...(more > 0 && { more }) }
    })
  }

  function matchedRoute (request: FastifyRequest, route: RouteMatch, params: unknown, wanted: Wanted): object {
    const declared = routeTable.of(request)
    const { controller } = stateOf(request)
    const place = declared?.declaredAt == null ? undefined : declaredPlace(declared.declaredAt)?.source
    const handler = controller?.source ?? place
    const { tried } = routesBeside(routeTable.own(), declared, wanted)
    return {
      matched: {
        ...route,
        params: mask.value(params),
        methods: declared?.methods ?? [request.method],
        ...(controller !== null && { controller: controller.name }),
        ...(handler !== undefined && { handler })
      },
      ...(tried.length > 0 && { tried: masked(tried) })
    }
  }

  function masked<T extends { why: string }> (tried: readonly T[]): T[] {
    return tried.map((one) => ({ ...one, why: mask.text(one.why) }))
  }
}
