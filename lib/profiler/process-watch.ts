import { loggedError } from '../errors/flatten-error.js'
import { requestContext, stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import type { Mode } from '../lifecycle/services.js'
import type { LogLevel } from '../logs/log-record.js'
import type {} from '../logs/request-log.js'
import { inspected } from '../view/json.js'

const users = { observe: 0, full: 0 }

/**
 * Attributes warnings, unhandled rejections and uncaught exceptions of the process to the request that caused them.
 * Returns a function that ends this; the listeners are shared by all applications of the process. `observe` mode has no
 * listener for `unhandledRejection`, since with one Node.js would not turn rejections into uncaught exceptions.
 */
export function watchProcess (mode: Mode): () => void {
  if (users.observe + users.full === 0) {
    process.on('warning', onWarning)
    process.on('uncaughtExceptionMonitor', onUncaught)
  }
  if (mode === 'full' && users.full === 0) process.on('unhandledRejection', onRejection)
  users[mode]++
  return () => {
    users[mode]--
    if (mode === 'full' && users.full === 0) process.off('unhandledRejection', onRejection)
    if (users.observe + users.full > 0) return
    process.off('warning', onWarning)
    process.off('uncaughtExceptionMonitor', onUncaught)
  }
}

function onWarning (warning: Error): void {
  note('warn', `${warning.name}: ${warning.message}`, warning.stack)
}

function note (level: LogLevel, message: string, stack: string | undefined): void {
  const request = requestContext.getStore()?.request
  if (request !== undefined) stateOf(request).log?.note(level, { channel: 'process', message, context: { stack } })
}

function onUncaught (raised: unknown, origin: string): void {
  try {
    noteUncaught(raised, origin)
  } catch {
    // An error thrown here would replace the exception.
  }
}

function noteUncaught (raised: unknown, origin: string): void {
  const context = requestContext.getStore()
  if (context === undefined) return
  const { request, reply } = context
  const { mode, profiles } = servicesOf(request)
  const state = stateOf(request)
  if (state.others.includes(raised)) return
  const what = origin === 'unhandledRejection' ? 'Unhandled rejection' : 'Uncaught exception'
  const message = `${what} in the work of this request`
  if (mode === 'full') request.log.fatal({ err: loggedError(raised), channel: 'process' }, message)
  else note('fatal', message, raised instanceof Error ? raised.stack : inspected(raised))
  state.others.push(raised)
  if (reply.sent) {
    profiles?.keepLate(request, reply)
  } else if (mode === 'full' && !state.failed) {
    // The service ends only after pending responses were sent.
    reply.send(raised instanceof Error ? raised : new Error(`${what}: ${String(raised)}`, { cause: raised }))
  }
}

function onRejection (reason: unknown): void {
  onUncaught(reason, 'unhandledRejection')
  // With this listener alone, Node.js would not end the process as it does without it. The next tick keeps the
  // asynchronous context of the request, which a throwing listener loses.
  if (process.listenerCount('unhandledRejection') === 1) process.nextTick(() => { throw reason })
}
