import { requestContext } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import type { Mode } from '../lifecycle/services.js'
import { stateOf } from '../lifecycle/request-state.js'
import type { LogLevel } from '../logs/log-record.js'
import type {} from '../logs/request-log.js'
import { loggedError } from '../errors/flatten-error.js'
import { inspected } from '../errors/thrown-value.js'

const users = { observe: 0, full: 0 }

/**
 * Attributes the warnings, unhandled rejections and uncaught exceptions of the process to the request that caused them.
 * All applications of a process share the listeners; the function that is returned removes them. In `observe` mode
 * nothing listens to `unhandledRejection`: without a listener Node.js turns a rejection into an uncaught exception, as
 * it does without Hindsight.
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
  note('warn', `${warning.name}: ${warning.message}`, { stack: warning.stack })
}

function note (level: LogLevel, message: string, context: Record<string, unknown>): void {
  const request = requestContext.getStore()?.request
  if (request === undefined) return
  stateOf(request).log?.note({ time: new Date().toISOString(), level, channel: 'process', message, context })
}

function onUncaught (raised: unknown, origin: string): void {
  try {
    noteUncaught(raised, origin)
  } catch {
    // What is thrown here would take the place of the exception.
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
  else note('fatal', message, { stack: raised instanceof Error ? raised.stack : inspected(raised) })
  state.others.push(raised)
  if (reply.sent) profiles?.keepLate(request, reply)
  // The service ends only after the responses that are under way.
  else if (mode === 'full' && !state.failed) {
    reply.send(raised instanceof Error ? raised : new Error(`${what}: ${String(raised)}`, { cause: raised }))
  }
}

function onRejection (reason: unknown): void {
  onUncaught(reason, 'unhandledRejection')
  // This listener must not keep the process alive: without another one it ends as Node.js ends it.
  // The next tick keeps the context of the request, which a listener that throws loses.
  if (process.listenerCount('unhandledRejection') === 1) process.nextTick(() => { throw reason })
}
