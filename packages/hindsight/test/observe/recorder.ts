import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'

/** What an application does, as its hooks and its log show it. */
export class Recorder {
  /** Hooks and handlers that ran, in order. */
  readonly events: string[] = []
  /** Lines of the log, as pino wrote them. */
  readonly lines: string[] = []
  /** Route objects as `onRoute` received them. */
  readonly routes: unknown[] = []
  /** The stream of the application's logger. */
  readonly stream = { write: (line: string) => { this.lines.push(line) } }
  #identifiers = 0

  note (event: string): void {
    this.events.push(event)
  }

  /** A hook or an error handler fails on purpose: the diagnostic page never replaces Fastify's answer to that. */
  noteFailure (event: string): void {
    this.note(`${FAILURE}${event}`)
  }

  /** The application itself made the answer. */
  noteOwn (event: string): void {
    this.note(`${OWN}${event}`)
  }

  /** An identifier that is the same in each run. */
  nextIdentifier (): string {
    return `identifier-${++this.#identifiers}`
  }

  recordRoutes (app: FastifyInstance): void {
    app.addHook('onRoute', (route) => { this.routes.push(describe(route)) })
  }
}

const FAILURE = 'fails: '
const OWN = 'own answer: '

/** Whether the events of a request forbid that the diagnostic page replaces its answer. */
export function isKept (events: readonly string[]): boolean {
  return events.some((event) => event.startsWith(FAILURE) || event.startsWith(OWN))
}

/** Whether an error handler has failed: the error that Fastify answers with is its own, and may have a page. */
export function hasFailingHandler (events: readonly string[]): boolean {
  return events.some((event) => event.startsWith(FAILURE) && event.includes('error handler'))
}

/** A value as JSON can hold it: own keys with symbols, and functions by name, number of parameters and source. */
export function describe (value: unknown, depth = 3): unknown {
  if (typeof value === 'function') return `function ${value.name}/${value.length} ${hashOf(value)}`
  if (typeof value === 'object' && value !== null) {
    if (depth === 0) return Object.prototype.toString.call(value)
    if (Array.isArray(value)) return value.map((item) => describe(item, depth - 1))
    return Object.fromEntries(Reflect.ownKeys(value).map((key) => [String(key), describe(Reflect.get(value, key), depth - 1)]))
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value === null ? value : String(value)
}

const hashes = new WeakMap<object, string>()

function hashOf (value: object): string {
  const hash = hashes.get(value) ?? createHash('sha1').update(String(value)).digest('hex').slice(0, 8)
  hashes.set(value, hash)
  return hash
}
