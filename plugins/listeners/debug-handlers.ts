import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { listener } from '../kernel/listener.js'
import { requestContext } from '../kernel/request-context.js'
import { stateOf } from '../kernel/request-state.js'
import { LogCapture } from '../logs/log-capture.js'
import { RequestLog } from '../logs/request-log.js'

export interface DebugHandlersOptions {
  /** How many frames a stack keeps in debug mode. */
  stackDepth?: number
}

/**
 * Opens the request's diagnostic context: its log is captured, and what the process says on its own
 * (a warning, an unhandled rejection, an uncaught exception) is attributed to the request that caused it.
 */
export const debugHandlers = listener('kernel.request', 'debug-handlers', (app, { stackDepth = 50 }: DebugHandlersOptions) => {
  if (!app.hindsight.debug) return 'not in debug mode'
  Error.stackTraceLimit = Math.max(Error.stackTraceLimit, stackDepth)
  const capture = new LogCapture(app, () => {
    const context = requestContext.getStore()
    const log = context === undefined ? null : stateOf(context.request).log
    return log instanceof RequestLog ? log : null
  })
  watchProcess(app, () => capture.close())

  function open (request: FastifyRequest, reply: FastifyReply): void {
    const log = capture.open(request)
    reply.log = request.log
    stateOf(request).log = log
    requestContext.enterWith({ request, reply })
  }
  app.hindsight.openDiagnostics = open
  // The parser hands out the body in an execution context of its own; what comes after it belongs to the request again.
  app.addHook('preValidation', function reenter (request, reply, done) {
    requestContext.run({ request, reply }, done)
  })
  return open
})

// Of all applications of the process.
const watchers = new Set<unknown>()

function watchProcess (app: FastifyInstance, onClose: () => void): void {
  function onWarning (warning: Error): void {
    const log = ownContext(app)?.log
    if (!(log instanceof RequestLog)) return
    log.note({
      time: new Date().toISOString(),
      level: 'warn',
      channel: 'process',
      message: `${warning.name}: ${warning.message}`,
      context: { stack: warning.stack }
    })
  }
  function onStray (raised: unknown, origin: string): void {
    const state = ownContext(app)
    const { request, reply } = requestContext.getStore() ?? {}
    if (state === null || request === undefined || reply === undefined || state.others.includes(raised)) return
    const what = origin === 'unhandledRejection' ? 'Unhandled rejection' : 'Uncaught exception'
    request.log.fatal({ err: raised, channel: 'process' }, `${what} in the work of this request`)
    state.others.push(raised)
    // Whoever ends the process lets the responses in flight go out first.
    if (!reply.sent && !state.failed) reply.send(raised instanceof Error ? raised : new Error(`${what}: ${String(raised)}`, { cause: raised }))
  }
  function onRejection (reason: unknown): void {
    onStray(reason, 'unhandledRejection')
    // Listening must not keep the process alive: without anybody else's say it ends as Node.js ends it.
    if (process.listeners('unhandledRejection').every((other) => watchers.has(other))) throw reason
  }
  watchers.add(onRejection)
  process.on('unhandledRejection', onRejection)
  process.on('warning', onWarning)
  process.on('uncaughtExceptionMonitor', onStray)
  app.addHook('onClose', async function unwatchProcess () {
    process.off('warning', onWarning)
    process.off('uncaughtExceptionMonitor', onStray)
    process.off('unhandledRejection', onRejection)
    watchers.delete(onRejection)
    onClose()
  })
}

// Several applications may live in one process: each answers for its own requests.
function ownContext (app: FastifyInstance): ReturnType<typeof stateOf> | null {
  const request = requestContext.getStore()?.request
  return request !== undefined && request.server.hindsight === app.hindsight ? stateOf(request) : null
}
