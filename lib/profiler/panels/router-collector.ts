import type { FastifyInstance, FastifyRequest } from 'fastify'
import { declaredPlace } from '../../errors/declared-place.js'
import { pathnameOf } from '../../http/request-target.js'
import { stateOf } from '../../lifecycle/request-state.js'
import type { RouteMatch } from '../../lifecycle/request-state.js'
import { triedRoutes } from '../../routing/tried-routes.js'

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
      if (route !== null) return matchedRoute(request, route, params)
      const { host = '', 'accept-version': version = '' } = request.headers
      const wanted = { method: request.method, path: pathnameOf(request), host, version: String(version) }
      const { tried, more } = triedRoutes(routeTable.own(), wanted)
      const masked = tried.map((one) => ({ ...one, why: mask.text(one.why) }))
      return { matched: null, tried: masked, ...(more > 0 && { more }) }
    })
  }

  function matchedRoute (request: FastifyRequest, route: RouteMatch, params: unknown): object {
    const declared = routeTable.of(request)
    const { controller } = stateOf(request)
    const place = declared?.declaredAt == null ? undefined : declaredPlace(declared.declaredAt)?.source
    const handler = controller?.source ?? place
    return {
      matched: {
        ...route,
        params: mask.value(params),
        methods: declared?.methods ?? [request.method],
        ...(controller !== null && { controller: controller.name }),
        ...(handler !== undefined && { handler })
      }
    }
  }
}
