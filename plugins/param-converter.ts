import type { FastifyRequest } from 'fastify'
import { NotFoundError, ParamConversionError } from '../lib/http/http-errors.js'
import { isPromise, listener } from '../lib/lifecycle/listener.js'
import { attributesOf } from '../lib/lifecycle/request-state.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { attributesOf as declaredOf, notDeclared, ofDiagnosticHandler, type RouteAttributes } from '../lib/routing/attributes.js'
import { checkConverters, paramConversions, type OwnConverters, type ParamConversion } from '../lib/routing/param-conversion.js'
import { routeName } from '../lib/routing/route-table.js'

export interface ParamConverterOptions {
  /** The application's own converters of path parameters, by the names that `config.params` calls them. */
  converters?: OwnConverters
}

type Values = Record<string, unknown>

/**
 * Turns path parameters into values, in the order in which the route declares them. A value that cannot be converted
 * is not found, with the reason as cause.
 */
export const paramConverter = listener('kernel.controller', 'param-converter', (app, { converters = {} }: ParamConverterOptions) => {
  checkConverters(converters)
  const conversions = new WeakMap<NonNullable<RouteAttributes['params']>, readonly ParamConversion[]>()
  const { mask } = app.hindsight
  app.addHook('onRoute', function compileConversions (route) {
    const params = route.config?.params
    if (params !== undefined) conversions.set(params, paramConversions(routeName(route), route.url, params, converters))
  })

  return (request) => {
    const params = declaredOf(request)?.params
    if (params === undefined) return notDeclared
    const state = stateOf(request)
    if (state.failed) return ofDiagnosticHandler
    const conversion = new Conversion(request, conversions.get(params) as readonly ParamConversion[])
    if (state.observed) state.collect('params', () => mask.value(conversion.record()))
    return conversion.run(0)
  }
})

/** The conversion of one request's parameters. */
class Conversion {
  readonly #request: FastifyRequest
  readonly #declared: readonly ParamConversion[]
  readonly #sent: Values
  readonly #values: Values
  #done = 0

  constructor (request: FastifyRequest, declared: readonly ParamConversion[]) {
    this.#request = request
    this.#declared = declared
    this.#sent = stateOf(request).sentParams = request.params as Values
    // A converter finds what those before it have made.
    request.params = this.#values = { ...this.#sent }
    const { route } = stateOf(request)
    if (route !== null) route.params = this.#values
  }

  run (first: number): undefined | Promise<undefined> {
    for (let i = first; i < this.#declared.length; i++) {
      const conversion = this.#declared[i] as ParamConversion
      const sent = this.#sent[conversion.param]
      // An optional parameter that is not there has no value.
      if (sent === undefined) continue
      const text = String(sent)
      const value = attempt(conversion, text, this.#request)
      if (!isPromise(value)) {
        this.#keep(i, text, value)
        continue
      }
      return value.then((later) => {
        this.#keep(i, text, later)
        return this.run(i + 1)
      }, (reason) => { throw notFound(conversion, reason) })
    }
  }

  /** What became of each parameter, as far as the conversion came. */
  record (): Record<string, unknown> {
    return Object.fromEntries(this.#declared.map(({ param, converter }, i) =>
      [param, { converter, sent: this.#sent[param] ?? null, ...(i < this.#done && { value: this.#values[param] }) }]))
  }

  #keep (index: number, text: string, value: unknown): void {
    const conversion = this.#declared[index] as ParamConversion
    const { param, converter } = conversion
    if (value === undefined || value === null) throw notFound(conversion, new ParamConversionError(`"${converter}" found nothing for "${text}"`))
    this.#values[param] = value
    attributesOf(this.#request)[param] = value
    this.#done = index + 1
  }
}

function attempt (conversion: ParamConversion, text: string, request: FastifyRequest): unknown {
  try {
    return conversion.convert(text, request)
  } catch (reason) {
    throw notFound(conversion, reason)
  }
}

// What the converter could not even look for is not the client's mistake.
function notFound ({ param, converter }: ParamConversion, reason: unknown): unknown {
  if (typeof reason === 'object' && reason !== null) {
    const { statusCode, syscall } = reason as { statusCode?: unknown, syscall?: unknown }
    if (syscall !== undefined || (typeof statusCode === 'number' && statusCode !== 404)) return reason
  }
  return new NotFoundError(`"${param}" object not found by the "${converter}" converter.`, { cause: reason })
}
