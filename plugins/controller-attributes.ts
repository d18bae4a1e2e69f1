import { listener } from '../lib/lifecycle/listener.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { routeConfigOf } from '../lib/lifecycle/request-state.js'
import { declaredIn, kDeclared, notDeclared, ofDiagnosticHandler } from '../lib/routing/attributes.js'
import { readAttributes } from '../lib/routing/attribute-schema.js'
import { routeName } from '../lib/routing/route-table.js'

/** Reads what the route declares for the listeners around its handler; a mistyped attribute stops the start. */
export const controllerAttributes = listener('kernel.controller', 'controller-attributes', (app) => {
  app.addHook('onRoute', function validate (route) {
    if (route.config === undefined) return
    const attributes = readAttributes(routeName(route), route.config as Record<string, unknown>)
    if (attributes !== null) route.config = { ...route.config, [kDeclared]: attributes } as typeof route.config
  })
  const { mask } = app.hindsight
  return (request) => {
    const attributes = declaredIn(routeConfigOf(request))
    if (attributes === undefined) return notDeclared
    const state = stateOf(request)
    if (state.failed) return ofDiagnosticHandler
    state.attributes = attributes
    if (state.observed) state.collect('attributes', () => mask.value(attributes))
  }
})
