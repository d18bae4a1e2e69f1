import type { FastifyInstance, FastifyRequest } from 'fastify'
import { declaredPlace } from '../../errors/declared-place.js'
import { pathnameOf } from '../../http/request-target.js'
import { stateOf, type RequestState } from '../../lifecycle/request-state.js'
import { routeMatchOf } from '../../routing/route-table.js'
import { triedRoutes } from '../../routing/tried-routes.js'
import type { ProfiledRoute } from '../../store/profile.js'
import { collectedBy } from '../collect.js'

/**
 * Returns the function that records the route of a request, which becomes the `route` of its profile, or why no route
 * matched.
 */
export function routeCollector ({ hindsight }: FastifyInstance): (request: FastifyRequest) => void {
  const { routeTable, mask } = hindsight
  return (request) => {
    const state = stateOf(request)
    // The router's finish listener clears the route before the profile is built, and before a later failure.
    const route = state.route ?? routeMatchOf(request)
    // As sent: the params panel shows converted values.
    const params = state.sentParams ?? route?.params
    state.collect('router', () => {
      if (route === null) return unmatched(request)
      const { controller } = state.recording
      const declared = routeTable.of(request)
      const place = declared?.declaredAt == null ? undefined : declaredPlace(declared.declaredAt)?.source
      const handler = controller?.source ?? place
      const matched: ProfiledRoute = {
        ...route,
        params: mask.value(params) as ProfiledRoute['params'],
        methods: declared?.methods ?? [request.method],
        ...(controller !== null && { controller: controller.name }),
        ...(handler !== undefined && { handler })
      }
      return { matched }
    })
  }

  function unmatched (request: FastifyRequest): object {
    const { tried, more } = triedRoutes(routeTable.own(), { method: request.method, path: pathnameOf(request) })
    return { tried: tried.map((one) => ({ ...one, why: mask.text(one.why) })), ...(more > 0 && { more }) }
  }
}

/** The route of a request that has no profile yet; null where none matched. */
export function routeIn (state: RequestState): ProfiledRoute | null {
  const { matched } = (collectedBy(state.recording, 'router') ?? {}) as { matched?: ProfiledRoute }
  return matched ?? (state.route === null ? null : { ...state.route, methods: [] })
}
