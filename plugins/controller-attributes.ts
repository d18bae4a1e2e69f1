import { listener } from '../lib/full/listener.js'
import { routeConfigOf, stateOf } from '../lib/lifecycle/request-state.js'
import { attributesIn, checkAttributes, notDeclared, ofDiagnosticHandler } from '../lib/full/attributes.js'
import { routeName } from '../lib/routing/route-table.js'
import type { RouteAttributes } from '../lib/options.js'

declare module 'fastify' {
  interface FastifyContextConfig extends RouteAttributes {}
}

type Config = Record<string, unknown> | undefined

/** Reads what the route declares for the listeners; a wrong attribute stops the start. */
export const controllerAttributes = listener('kernel.controller', 'controller-attributes', (app) => {
  app.addHook(
    'onRoute', function checkRoute (route) { checkAttributes(routeName(route), (route.config as Config) ?? {}) }
  )
  return (request) => {
    const attributes = attributesIn(routeConfigOf(request) as Config)
    if (attributes === null) return notDeclared
    const state = stateOf(request)
    if (state.failed) return ofDiagnosticHandler
    state.attributes = attributes
    state.collect('attributes', () => app.hindsight.mask.value(attributes))
  }
})
