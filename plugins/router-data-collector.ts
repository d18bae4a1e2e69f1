import { listener } from '../lib/lifecycle/listener.js'

/** Records the route, its parameters and where it was declared; and of the other routes why they did not match. */
export const routerDataCollector = listener('kernel.controller', 'router-data-collector', async (app) => {
  if (!app.hindsight.observed) return 'not in debug mode'
  const { routeCollector } = await import('../lib/parts/router/collector.js')
  return { hook: routeCollector(app), when: 'observed' }
})
