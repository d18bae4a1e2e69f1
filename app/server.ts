import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pino, { type DestinationStream } from 'pino'
import type { FastifyInstance } from 'fastify'
import { attemptCall, printFailure, requestContext } from 'fastify-hindsight/recorder'
import { readEnvironment, type Environment } from './environment.js'

/** Bytes of lines that wait while they cannot be written; later lines are dropped. */
const MAX_WAITING = 1024 * 1024

/** Starts the service that `npm start` runs. */
async function start (): Promise<void> {
  const environment = readEnvironment()
  const { host, port, logLevel, options: { trustedProxies = [] } } = environment
  let app: FastifyInstance | undefined
  try {
    const { default: Fastify } = await import('fastify')
    // It reads the environment too, so it is loaded after the check of the environment.
    const { default: application, options } = await import('./app.js')
    const trustProxy = trustedProxies.length > 0 ? trustedProxies : false
    app = Fastify({ ...options, logger: { level: logLevel, stream: logDestination() }, trustProxy })
    await app.register(application)
    await app.listen({ host, port })
  } catch (error) {
    await app?.close()
    return await printFailure(error, app)
  }
  // After the start: a process that could not start would otherwise end with the exit code 0.
  closeGracefully(app, environment)
}

/** The destination of the log: a full disk or a closed pipe costs log lines, and the service keeps running. */
function logDestination (): DestinationStream {
  const destination = pino.destination({ dest: 1, sync: true, maxLength: MAX_WAITING })
  destination.once('error', (error: Error) => {
    destination.on('error', () => {})
    attemptCall(() => writeSync(2, `The log cannot be written, lines are lost: ${error.message}\n`))
  })
  // Lines are written at once. pino would retry the remaining ones without end, and the process would not exit.
  destination.flushSync = () => {}
  return destination
}

start().catch(printFailure)

/** Milliseconds after `closeDelay` and `closeTimeout` for profiles to be written and stores to be closed. */
const FLUSH_TIMEOUT = 8_000
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR2'] as const
/** Milliseconds in which further signals count as the first one: npm repeats a signal to its process group. */
const REPEAT_INTERVAL = 1_000

/** Closes the application at a signal or an uncaught error. A later signal (after 1 s) ends the process at once. */
function closeGracefully (app: FastifyInstance, { closeDelay, closeTimeout }: Environment): void {
  let failed = false
  let signal: NodeJS.Signals | undefined
  let signaledAt = 0
  // The exit code is 0 where there was no error, and no request was aborted.
  async function close (): Promise<void> {
    setTimeout(() => process.exit(1), closeDelay + closeTimeout + FLUSH_TIMEOUT)
    app.hindsight.beginClosing()
    if (!failed) {
      app.log.info({ signal }, 'Closing')
      await sleep(closeDelay)
    }
    let isComplete = true
    const timer = setTimeout(() => {
      isComplete = false
      app.log.warn(`Requests that did not end within ${closeTimeout} ms were aborted (CLOSE_TIMEOUT)`)
      app.server.closeAllConnections()
    }, closeTimeout)
    try {
      await app.close()
    } catch (err) {
      isComplete = false
      app.log.error({ err }, 'The application could not be closed completely')
    }
    clearTimeout(timer)
    process.exit(failed || !isComplete ? 1 : 0)
  }
  for (const name of SIGNALS) {
    process.on(name, () => {
      if (signal === undefined) {
        signal = name
        signaledAt = performance.now()
        if (!app.hindsight.isClosing) close()
      } else if (performance.now() - signaledAt > REPEAT_INTERVAL) process.exit(1)
    })
  }
  // Further errors are logged, and do not prevent that profiles are written.
  const fail = (err: unknown): void => {
    // An error that belongs to a request was logged with it.
    const bindings = requestContext.getStore()?.trace === undefined ? { err } : {}
    app.log.fatal(bindings, failed ? 'Another uncaught error' : 'Uncaught error, closing')
    if (failed) return
    failed = true
    if (!app.hindsight.isClosing) close()
  }
  process.on('uncaughtException', fail).on('unhandledRejection', fail)
}
