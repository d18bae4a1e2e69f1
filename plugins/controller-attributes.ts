import { routeConfigOf, routeName } from 'fastify-hindsight/recorder'
import { checkAttributes, ROUTE_ATTRIBUTES } from '../lib/check-options.js'
import type { RouteAttributes } from '../lib/options.js'
import { attributes as attributesPart } from '../lib/parts/listeners.js'
import { stateOf } from '../lib/state.js'
import { defineListener, notConfigured, ofDiagnosticHandler } from '../lib/listener.js'

declare module 'fastify' {
  interface FastifyContextConfig extends RouteAttributes {}
}

const NAMES = Object.keys(ROUTE_ATTRIBUTES)

type Config = Record<string, unknown> | undefined

/** Reads what the route declares for the listeners; a wrong attribute stops the start. */
export const controllerAttributes = defineListener('kernel.controller', 'controller-attributes', (app) => {
  app.addHook(
    'onRoute', function checkRoute (route) { checkAttributes(routeName(route), (route.config as Config) ?? {}) }
  )
  return (request) => {
    const attributes = attributesIn(routeConfigOf(request) as Config)
    if (attributes === null) return notConfigured
    const state = stateOf(request)
    if (state.failed) return ofDiagnosticHandler
    state.attributes = attributes
    state.trace.collect(attributesPart, () => app.hindsight.mask.value(attributes))
  }
})

/** The attributes that a `config` declares; null where it declares none. */
function attributesIn (config: Readonly<Record<string, unknown>> | undefined): RouteAttributes | null {
  const declared = NAMES.filter((name) => config?.[name] !== undefined)
  return declared.length === 0 ? null : Object.fromEntries(declared.map((name) => [name, config?.[name]]))
}
