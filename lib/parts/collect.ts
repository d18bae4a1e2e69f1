import type { FastifyReply, FastifyRequest } from 'fastify'
import { messageOf } from '../errors/thrown-value.js'
import { isPromise } from '../lifecycle/listener.js'
import type { RequestState } from '../lifecycle/request-state.js'
import { snapshot } from './snapshot.js'

/** How a collector's data are shown. The functions receive the result of `collect` (`T`) as masked JSON data. */
export interface CollectorPanel<T = any> {
  /** The text of the panel's menu entry; default: the name of the collector. */
  label?: string
  /** The number beside the label. */
  count?: (data: T) => number | undefined
  /** Whether the menu marks the panel as one with a problem. */
  problem?: (data: T) => boolean
  /** Markup: the tag `html` escapes values. Default: the data as JSON. */
  render?: (data: T) => string
}

/** Collects the data of one panel of the application, after the response. `T` is the type that `collect` returns. */
export interface Collector<T = any> {
  /** The key in `profile.collectors`, and the value of `?panel=`. */
  name: string
  /** Returns JSON data, which are masked. A promise is an error: await data in the handler or a hook. */
  collect: (request: FastifyRequest, reply: FastifyReply) => T
  panel?: CollectorPanel<T>
}

const OWN_NAMES = new Set([
  'request', 'response', 'exceptions', 'logs', 'events', 'router', 'security', 'performance', 'session', 'cors', 'csp',
  'cache', 'locale', 'pagination', 'config', 'http-client', 'spans', 'trace', 'attributes', 'template', 'params',
  'links', 'assets', 'overview', 'otherErrors', 'cpu', 'headers', 'blocked'
])

/** Throws for a collector without a name of its own. */
export function checkCollectors (collectors: readonly Collector[]): void {
  const names = new Set<string>()
  for (const [i, { name }] of collectors.entries()) {
    const option = `profiler.collectors[${i}]`
    if (OWN_NAMES.has(name)) throw new Error(`${option}.name: "${name}" is the name of a collector of Hindsight`)
    if (names.has(name)) throw new Error(`${option}.name: "${name}" is used twice`)
    names.add(name)
  }
}

/** Runs the collectors of the application: data by their names, `{ error }` of one that fails. */
export function collectData (
  collectors: readonly Collector[], request: FastifyRequest, reply: FastifyReply
): Record<string, unknown> {
  const data: Record<string, unknown> = {}
  for (const { name, collect } of collectors) {
    try {
      const result = collect(request, reply) as unknown
      if (isPromise(result)) {
        result.then(undefined, () => {})
        throw new Error('it returned a promise')
      }
      // A copy: the application may change its data later.
      data[name] = result === undefined ? null : snapshot(result)
    } catch (error) {
      data[name] = { error: messageOf(error) }
    }
  }
  return data
}

/** The data of a collector of Hindsight; `{ error }` if it fails. */
export function collectedBy ({ collected }: RequestState, name: string): unknown {
  const data = collected?.[name]
  try {
    return typeof data === 'function' ? data() as unknown : data
  } catch (error) {
    return { error: messageOf(error) }
  }
}
