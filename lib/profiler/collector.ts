import type { FastifyReply, FastifyRequest } from 'fastify'
import { messageOf } from '../errors/thrown-value.js'
import { isPromise } from '../lifecycle/listener.js'
import { snapshot } from './snapshot.js'
import { settlesWithin } from './write-queue.js'

/**
 * How the data of a collector are shown. `T` is the return type of `collect`; the functions receive it as plain JSON
 * data, masked, null instead of undefined.
 */
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

/**
 * Collects the data of one panel of the application's own, after the response. With a type argument,
 * `Collector<{ tenant: string }>`, the functions of the panel are checked against the return type of `collect`.
 */
export interface Collector<T = any> {
  /** The key in `profile.collectors`, and the value of `?panel=`. */
  name: string
  /** Returns, or resolves to, JSON data; they are masked. A collector that has not settled after 2 s fails. */
  collect: (request: FastifyRequest, reply: FastifyReply) => T | PromiseLike<T>
  panel?: CollectorPanel<T>
}

/** Milliseconds until a collector fails. */
const TIMEOUT = 2_000
const OWN_NAMES = new Set([
  'request', 'response', 'exceptions', 'logs', 'events', 'router', 'security', 'performance', 'session', 'cors', 'csp',
  'cache', 'locale', 'pagination', 'config', 'http-client', 'spans', 'trace', 'attributes', 'template', 'params',
  'links', 'assets', 'overview', 'otherErrors', 'cpu', 'headers', 'blocked'
])

/** Throws at a collector without a name of its own. */
export function checkCollectors (collectors: readonly Collector[]): void {
  const names = new Set<string>()
  for (const [i, { name }] of collectors.entries()) {
    const option = `profiler.collectors[${i}]`
    if (OWN_NAMES.has(name)) throw new Error(`${option}.name: "${name}" is the name of a collector of Hindsight`)
    if (names.has(name)) throw new Error(`${option}.name: "${name}" is used twice`)
    names.add(name)
  }
}

/** The data of the application's collectors for one request. */
export interface Collection {
  /** Data by the names of the collectors, as far as they have settled; `{ error }` of a collector that fails. */
  data: Record<string, unknown>
  /** Resolves when all collectors have settled or timed out; undefined where all were synchronous. It never rejects. */
  settled: Promise<unknown> | undefined
}

/** Runs the collectors of the application. */
export function collectData (
  collectors: readonly Collector[], request: FastifyRequest, reply: FastifyReply, timeout = TIMEOUT
): Collection {
  const data: Record<string, unknown> = {}
  const pending: Array<Promise<void>> = []
  for (const { name, collect } of collectors) {
    // A copy, as the application may go on to change its data.
    const keep = (result: unknown): void => { data[name] = result === undefined ? null : snapshot(result) }
    const fail = (error: unknown): void => { data[name] = { error: messageOf(error) } }
    try {
      const result = collect(request, reply) as unknown
      if (!isPromise(result)) keep(result)
      else {
        pending.push(settlesWithin(Promise.resolve(result).then(keep), timeout).then((isSettled) => {
          if (!isSettled) fail(`it had not settled after ${timeout} ms`)
        }, fail))
      }
    } catch (error) {
      fail(error)
    }
  }
  return { data, settled: pending.length === 0 ? undefined : Promise.all(pending) }
}
