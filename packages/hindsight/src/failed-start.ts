import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { errorMonitor, type EventEmitter } from 'node:events'
import { resolve } from 'node:path'
import { inspect } from 'node:util'
import type { FastifyInstance, FastifyListenOptions } from 'fastify'
import { attemptCall } from './call.js'
import { FAILED_START } from './error-page/render-html.js'
import { declaredPlace } from './errors/declared-place.js'
import { firstDeclaration, placeOfFailedStart, sourceOfFailedStart } from './errors/failed-start.js'
import { messageOf, readProperty } from './errors/thrown-value.js'
import { requestContext, traceOf } from './recording/trace.js'
import { LINES, type PublishedLine } from './logs/log-capture.js'
import type { RouteTable } from './routing/route-table.js'

/** The diagnostics channel of new applications. */
const MADE = 'fastify.initialization'

/** Prints why the service could not start: the place, its source, and the error. */
export function printFailure (error: unknown, app?: FastifyInstance): void {
  const source = sourceOfFailedStart(error, routeTablesOf(app))
  // Without them, the calls are those of Hindsight, Node.js and Fastify.
  const hasCalls = source !== '' || (error instanceof Error && declaredPlace(error) !== null)
  const text = hasCalls ? inspect(error) : messageOf(error).replace(/\s*\n\s*/g, ' ')
  const remark = error instanceof Error ? '' : 'This is no Error, which would have its place: throw new Error(…)\n'
  process.stderr.write(`${source}${text}\n${remark}`)
  process.exitCode = 1
}

/** The routes of an application, as far as they have been declared. */
function routeTablesOf (app: FastifyInstance | undefined): RouteTable[] {
  return app?.hasDecorator('hindsight') === true ? [app.hindsight.routeTable] : []
}

/** Answers all requests with the diagnostic page of a failed start until the process ends. The page reloads itself. */
export async function serveFailure (error: unknown, at: FastifyListenOptions, failed?: FastifyInstance): Promise<void> {
  const { default: Fastify } = await import('fastify')
  const { hindsight } = await import('./hindsight.js')
  const tables = routeTablesOf(failed)
  const place = placeOfFailedStart(error, tables)
  const first = firstDeclaration(error, tables)
  // The page shows the source of the first call of the application.
  if (error instanceof Error && !error.stack?.includes(place)) error.stack += `\n    at ${resolve(place)}:1`
  if (first !== undefined) Object.assign(error as Error, { 'first declaration': first })
  const app = Fastify()
  await app.register(hindsight, { profiler: false })
  app.setNotFoundHandler(async (request, reply) => {
    reply.header(FAILED_START, process.pid)
    traceOf(request).recording.raisedBy = { stage: 'start', listener: '' }
    throw error
  })
  // Where the port is in use, nothing is shown.
  await app.listen(at).catch(async () => { await app.close() })
}

/**
 * Prints the place and the source of an error that ends the process before an application listens. Node.js prints the
 * error; or the application has logged it, and exits.
 */
export function watchStart (): void {
  if (process.env.NODE_ENV === 'test') return
  let app: FastifyInstance | undefined
  let logged: unknown
  let refused: unknown
  const print = (error: unknown): void => {
    logged = undefined
    // Errors of requests have their pages.
    if (requestContext.getStore() !== undefined) return
    // An error thrown here would replace the other one.
    attemptCall(() => process.stderr.write(sourceOfFailedStart(error, routeTablesOf(app), refused)))
  }
  const onLine = (message: unknown): void => {
    const { arguments: [fields] } = message as PublishedLine
    const error = readProperty(fields, 'err')
    if (error instanceof Error && requestContext.getStore() === undefined) logged = error
  }
  const onExit = (code: number): void => { if (code !== 0 && logged !== undefined) print(logged) }
  const onMade = (message: unknown): void => {
    app = (message as { fastify: FastifyInstance }).fastify
    // A server of another kind may have no events.
    const server: Partial<EventEmitter> = app.server
    server.once?.(errorMonitor, (error) => { refused = error })
    app.addHook('onListen', async function endWatch () {
      process.off('uncaughtExceptionMonitor', print).off('exit', onExit)
      unsubscribe(LINES, onLine)
      unsubscribe(MADE, onMade)
    })
  }
  process.on('uncaughtExceptionMonitor', print).on('exit', onExit)
  subscribe(LINES, onLine)
  subscribe(MADE, onMade)
}
