import { requestContext } from '../kernel/request-context.js'
import { stateOf } from '../kernel/request-state.js'
import { RequestLog } from '../logs/request-log.js'

let users = 0

/**
 * Attributes what the process says on its own (a warning, an unhandled rejection, an uncaught exception) to the request
 * that caused it. All applications of a process share one watch; the function that is returned lets go of it.
 */
export function watchProcess (): () => void {
  if (users++ === 0) {
    process.on('warning', onWarning)
    process.on('uncaughtExceptionMonitor', onStray)
    process.on('unhandledRejection', onRejection)
  }
  return () => {
    if (--users > 0) return
    process.off('warning', onWarning)
    process.off('uncaughtExceptionMonitor', onStray)
    process.off('unhandledRejection', onRejection)
  }
}

function onWarning (warning: Error): void {
  const context = requestContext.getStore()
  const log = context === undefined ? null : stateOf(context.request).log
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
  const context = requestContext.getStore()
  if (context === undefined) return
  const { request, reply } = context
  const state = stateOf(request)
  if (state.others.includes(raised)) return
  const what = origin === 'unhandledRejection' ? 'Unhandled rejection' : 'Uncaught exception'
  request.log.fatal({ err: raised, channel: 'process' }, `${what} in the work of this request`)
  state.others.push(raised)
  // Whoever ends the process lets the responses in flight go out first.
  if (reply.sent) request.server.hindsight.keepLate?.(request, reply)
  else if (!state.failed) reply.send(raised instanceof Error ? raised : new Error(`${what}: ${String(raised)}`, { cause: raised }))
}

function onRejection (reason: unknown): void {
  onStray(reason, 'unhandledRejection')
  // Listening must not keep the process alive: without anybody else's say it ends as Node.js ends it.
  // A tick keeps the context of the request, which a listener that throws loses, for those who listen to the exit.
  if (process.listenerCount('unhandledRejection') === 1) process.nextTick(() => { throw reason })
}
