import { listener, Skip } from '../lib/lifecycle/listener.js'
import { stateOf } from '../lib/lifecycle/request-state.js'

const notObserved = new Skip('the request is not profiled')

/** Records the request: method, URL, headers, query, cookies, body, attributes, and whether the session was used. */
export const requestDataCollector = listener('kernel.controller', 'request-data-collector', async (app) => {
  if (!app.hindsight.observed) return 'not in debug mode'
  const { requestCollector } = await import('../lib/profiler/panels/request-collector.js')
  const collect = requestCollector(app)
  return (request) => {
    if (!stateOf(request).observed) return notObserved
    collect(request)
  }
})

/** Records the response: status, headers, content type and size, and the kind of a body that is no text. */
export const requestDataCollectorResponse = listener('kernel.response', 'request-data-collector', async (app) => {
  if (!app.hindsight.observed) return 'not in debug mode'
  const { responseCollector } = await import('../lib/profiler/panels/request-collector.js')
  const collect = responseCollector(app)
  return (request, reply, payload) => {
    if (!stateOf(request).observed) return notObserved
    collect(request, reply, payload)
  }
})
