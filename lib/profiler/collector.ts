import type { FastifyReply, FastifyRequest } from 'fastify'
import { snapshot } from './snapshot.js'

/** How collected data are shown. `T` is what the collector returns; the functions receive it as plain JSON data, masked, null instead of undefined. */
export interface CollectorPanel<T = any> {
  /** The text of the panel's menu entry; by default the name of the collector. */
  label?: string
  /** The number beside the label. */
  count?: (data: T) => number | undefined
  /** Whether the menu marks the panel as one with a problem. */
  problem?: (data: T) => boolean
  /** Markup: values are escaped by the tag `html`. Without it the data are shown as JSON. */
  render?: (data: T) => string
}

/**
 * Collects the data of one panel of the application's own, after the response. With a type argument the functions of the panel are checked against what
 * `collect` returns: `Collector<{ tenant: string }>`.
 */
export interface Collector<T = any> {
  /** The key in `profile.collectors`, and the value of `?panel=`. */
  name: string
  /** Returns, or resolves to, data that have a JSON form; they are masked. A collector that has not settled after 2 s fails. */
  collect: (request: FastifyRequest, reply: FastifyReply) => T | PromiseLike<T>
  panel?: CollectorPanel<T>
}

/** What stands in a profile where a collector failed. */
export interface CollectorFailure {
  error: string
}

/** Milliseconds that a collector is waited for. */
const MAX_WAIT = 2_000
const NAME = /^[a-z][\w-]{0,63}$/i
const OWN_NAMES = new Set([
  'request', 'response', 'exceptions', 'logs', 'events', 'router', 'security', 'performance', 'session', 'cors', 'csp', 'cache', 'locale', 'pagination',
  'config', 'http-client', 'spans', 'trace', 'attributes', 'template', 'params', 'links', 'assets', 'otherErrors', 'cpu', 'headers', 'blocked'
])

/** Stops the start at a collector that has no name of its own. */
export function checkCollectors (collectors: readonly Collector[]): void {
  const names = new Set<string>()
  for (const [i, { name, collect }] of collectors.entries()) {
    const option = `profiler.collectors[${i}]`
    if (typeof name !== 'string' || !NAME.test(name)) throw new Error(`${option}.name: "${String(name)}" is no name: a letter, then letters, digits, "-" and "_", 64 at most`)
    if (OWN_NAMES.has(name)) throw new Error(`${option}.name: "${name}" is the name of a collector of Hindsight`)
    if (names.has(name)) throw new Error(`${option}.name: "${name}" is there twice`)
    if (typeof collect !== 'function') throw new Error(`${option}.collect: a function is needed`)
    names.add(name)
  }
}

/** Runs the collectors of the application for one request; each fails for itself. */
export class Collection {
  /** What is there so far, by the names of the collectors. */
  readonly data: Record<string, unknown> = {}
  /** Resolves when the last one has settled or was given up; null where all of them answered at once. It never rejects. */
  readonly settled: Promise<unknown> | null

  constructor (collectors: readonly Collector[], request: FastifyRequest, reply: FastifyReply, wait = MAX_WAIT) {
    const running = collectors.map((collector) => this.#run(collector, request, reply, wait)).filter((one) => one !== null)
    this.settled = running.length === 0 ? null : Promise.all(running)
  }

  #run ({ name, collect }: Collector, request: FastifyRequest, reply: FastifyReply, wait: number): Promise<void> | null {
    try {
      const result = collect(request, reply)
      if (typeof (result as PromiseLike<unknown> | null | undefined)?.then !== 'function') {
        this.#keep(name, result)
        return null
      }
      return this.#await(name, result as PromiseLike<unknown>, wait)
    } catch (error) {
      this.data[name] = failure(error)
      return null
    }
  }

  async #await (name: string, result: PromiseLike<unknown>, wait: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const over = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`it had not settled after ${wait} ms`)), wait)
    })
    try {
      this.#keep(name, await Promise.race([result, over]))
    } catch (error) {
      this.data[name] = failure(error)
    } finally {
      clearTimeout(timer)
    }
  }

  // A copy: what the application goes on with is its own.
  #keep (name: string, result: unknown): void {
    this.data[name] = result === undefined ? null : snapshot(result).value
  }
}

function failure (error: unknown): CollectorFailure {
  try {
    return { error: error instanceof Error ? error.message : String(error) }
  } catch {
    return { error: 'it threw what cannot be read' }
  }
}
