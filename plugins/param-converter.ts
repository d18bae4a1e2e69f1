import type { FastifyRequest } from 'fastify'
import { attributesOf, NotFoundError, ParamConversionError, routeName, traceOf } from 'fastify-hindsight/recorder'
import type { RouteAttributes } from '../lib/options.js'
import { params as paramsPart } from '../lib/parts/listeners.js'
import { stateOf } from '../lib/state.js'
import { defineListener, notConfigured, ofDiagnosticHandler } from '../lib/listener.js'
import { checkConverters, paramConversions, type ParamConversion } from '../lib/param-conversion.js'

/** Converts path parameters, in the order of the route. A value that cannot be converted: 404. */
export const paramConverter = defineListener('kernel.controller', 'param-converter', (app, { converters = {} }) => {
  const conversions = new Map<NonNullable<RouteAttributes['params']>, readonly ParamConversion[]>()
  const { mask } = app.hindsight
  checkConverters(converters)
  app.addHook('onRoute', function compileConversions (route) {
    const params = route.config?.params
    if (params !== undefined) conversions.set(params, paramConversions(routeName(route), route.url, params, converters))
  })

  return (request) => {
    const state = stateOf(request)
    const params = state.attributes?.params
    if (params === undefined) return notConfigured
    if (state.failed) return ofDiagnosticHandler
    const declared = conversions.get(params) as readonly ParamConversion[]
    const sent = request.params as Record<string, unknown>
    const values = { ...sent }
    state.sentParams = sent
    // A converter receives the request with the values of those before it.
    request.params = values
    if (state.route !== null) state.route.params = values
    state.trace.collect(paramsPart, () => mask.value(Object.fromEntries(declared.map(({ param, converter }) =>
      [param, { converter, sent: sent[param] ?? null, value: values[param] ?? null }]))))
    return convertAll(request, declared, sent, values)
  }
})

async function convertAll (
  request: FastifyRequest, declared: readonly ParamConversion[],
  sent: Readonly<Record<string, unknown>>, values: Record<string, unknown>
): Promise<undefined> {
  for (const { param, converter, convert } of declared) {
    // An optional parameter may be absent.
    if (sent[param] === undefined) continue
    const text = String(sent[param])
    try {
      values[param] = await convert(text, request)
      if (values[param] === undefined || values[param] === null) {
        throw new ParamConversionError(`"${converter}" found nothing for "${text}"`)
      }
    } catch (reason) {
      values[param] = sent[param]
      throw isFailure(reason)
        ? reason
        : new NotFoundError(`"${param}" object not found by the "${converter}" converter.`, { cause: reason })
    }
    attributesOf(traceOf(request))[param] = values[param]
  }
}

// A system error, or an error with a status other than 404, is not the client's mistake.
function isFailure (reason: unknown): boolean {
  const { statusCode, syscall } = (reason ?? {}) as { statusCode?: unknown, syscall?: unknown }
  return syscall !== undefined || (typeof statusCode === 'number' && statusCode !== 404)
}
