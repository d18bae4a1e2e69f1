import { inspect } from 'node:util'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { keptBy } from './fastify-symbols.js'
import { isPromise } from './promise.js'
import { runOf, type Run } from './own-hooks.js'
import type { RouteConfig } from './route-config.js'
import { Answer, Raise, Skip } from './verdict.js'

type Hook = (...args: never[]) => unknown
type Done = (error?: Error) => void
type Sent = (error: Error | null, payload?: unknown) => void

/** The hooks of a route, each bound to its instance, as Fastify keeps them when the application is ready. */
interface RouteHooks {
  config?: RouteConfig
  onRequest: Hook[] | null
  preHandler: Hook[] | null
  onSend: Hook[] | null
}

const seen = new WeakSet<object>()

/**
 * Makes one of the listeners' hooks that follow each other directly on the route of a request: Fastify takes longer to go from one to the next
 * than most of them need, and passes over those that have nothing to do for any request of it. Each stays registered as it was; order, and what becomes
 * of an answer, an error or a promise, are the same.
 */
export function joinHooks (request: FastifyRequest): void {
  const route = keptBy<RouteHooks>(request, 'fastify.context')
  if (route === undefined || seen.has(route)) return
  seen.add(route)
  for (const name of ['onRequest', 'preHandler'] as const) route[name] = joined(route[name], route.config, requestHook)
  route.onSend = joined(route.onSend, route.config, sendHook)
}

// Where somebody else has replaced one it is left alone.
function joined (bound: Hook[] | null, config: RouteConfig | undefined, join: (runs: readonly Run[]) => Hook): Hook[] | null {
  if (bound === null) return null
  const all: Hook[] = []
  let runs: Run[] = []
  // One alone, too: what it does may be less than its hook does.
  const add = (): void => { if (runs.length > 0) all.push(join(runs)) }
  for (const hook of bound) {
    const ofRoute = runOf(hook)
    if (ofRoute === null) {
      add()
      runs = []
      all.push(hook)
      continue
    }
    const run = ofRoute(config)
    if (run !== null) runs.push(run)
  }
  add()
  // As Fastify has it where there are none.
  return all.length === 0 ? null : all
}

/** The hook of listeners ahead of the handler. */
export function requestHook (runs: readonly Run[]): (request: FastifyRequest, reply: FastifyReply, done: Done) => void {
  return function listeners (request, reply, done) {
    walkRequest(runs, 0, request, reply, done)
  }
}

function walkRequest (runs: readonly Run[], first: number, request: FastifyRequest, reply: FastifyReply, done: Done): void {
  for (let i = first; i < runs.length; i++) {
    // A callback of the application may have answered on its own.
    if (i > 0 && reply.sent) return
    let verdict: unknown
    try {
      verdict = (runs[i] as Run)(request, reply, undefined)
    } catch (raised) {
      return fail(raised, done)
    }
    if (verdict === undefined || verdict instanceof Skip) continue
    if (!isPromise(verdict)) return proceed(verdict, () => walkRequest(runs, i + 1, request, reply, done), reply, done)
    verdict.then((later) => proceed(later, () => walkRequest(runs, i + 1, request, reply, done), reply, done), (raised) => fail(raised, done))
    return
  }
  done()
}

function proceed (verdict: unknown, goOn: () => void, reply: FastifyReply, done: Done): void {
  if (verdict instanceof Answer) reply.send(verdict.payload)
  else if (verdict instanceof Raise) done(verdict.error)
  else goOn()
}

/** The hook of listeners behind it, each of which may change the payload. */
export function sendHook (runs: readonly Run[]): (request: FastifyRequest, reply: FastifyReply, payload: unknown, done: Sent) => void {
  return function listeners (request, reply, payload, done) {
    walkSend(runs, 0, request, reply, payload, done)
  }
}

function walkSend (runs: readonly Run[], first: number, request: FastifyRequest, reply: FastifyReply, given: unknown, done: Sent): void {
  let payload = given
  for (let i = first; i < runs.length; i++) {
    let result: unknown
    try {
      result = (runs[i] as Run)(request, reply, payload)
    } catch (raised) {
      return fail(raised, done)
    }
    if (result === undefined || result instanceof Skip) continue
    if (isPromise(result)) {
      const before = payload
      result.then((later) => {
        walkSend(runs, i + 1, request, reply, later === undefined || later instanceof Skip ? before : later, done)
      }, (raised) => fail(raised, done))
      return
    }
    payload = result
  }
  done(null, payload)
}

// Fastify takes a falsy error for none, and would go on behind all of them.
function fail (raised: unknown, done: (error: Error) => void): void {
  done((raised || new Error(`A listener raised ${inspect(raised)}`)) as Error)
}
