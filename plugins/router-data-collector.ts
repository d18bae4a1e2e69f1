import { listener, Skip } from '../lib/lifecycle/listener.js'
import { stateOf } from '../lib/lifecycle/request-state.js'

const notObserved = new Skip('the request is not profiled')

/** Records the route, its parameters and where it was declared; and of the other routes why they did not match. */
export const routerDataCollector = listener('kernel.controller', 'router-data-collector', async (app) => {
  if (!app.hindsight.observed) return 'not in debug mode'
  const { routeCollector } = await import('../lib/profiler/panels/router-collector.js')
  const collect = routeCollector(app)
  return (request) => {
    if (!stateOf(request).observed) return notObserved
    collect(request)
  }
})
