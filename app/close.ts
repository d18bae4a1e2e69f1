import { setTimeout as sleep } from 'node:timers/promises'
import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import { requestContext } from '../lib/lifecycle/request-state.js'

export interface CloseOptions {
  /** Milliseconds for which a service that was told to end still answers, as one that is not ready. */
  closeDelay: number
  /** Milliseconds for the requests that are under way then; those that take longer are cut off. */
  closeTimeout: number
}

/** Milliseconds after that for profiles to be written and stores to be closed. */
const FLUSH = 8_000
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR2'] as const
/** Milliseconds in which further signals are the first one: a signal to a process group arrives again through npm. */
const SAME_SIGNAL = 1_000

/**
 * Ends the process in order at a signal and at an uncaught error: requests under way are answered, profiles are written, stores are closed. A second signal,
 * after a second or more, ends it at once.
 */
export function closeInOrder (app: FastifyInstance, { closeDelay, closeTimeout }: CloseOptions): void {
  let failed = false
  let signal: NodeJS.Signals | undefined
  let signaledAt = 0
  const { close } = closeWithGrace({ delay: closeDelay + closeTimeout + FLUSH, logger: false, skip: ['uncaughtException', 'unhandledRejection', ...SIGNALS] }, async () => {
    app.hindsight.isClosing = true
    if (!failed) {
      app.log.info({ signal }, 'Closing')
      await sleep(closeDelay)
    }
    const wasCut = await closeWithin(app, closeTimeout)
    // Its rejection makes the exit code 1.
    if (failed || wasCut) throw new Error('not all was done')
  })
  for (const name of SIGNALS) {
    process.on(name, () => {
      if (signal !== undefined && performance.now() - signaledAt > SAME_SIGNAL) process.exit(1)
      if (signal !== undefined) return
      signal = name
      signaledAt = performance.now()
      if (!app.hindsight.isClosing) close()
    })
  }
  // Further errors are logged, and do not keep the profiles from being written.
  function fail (err: unknown): void {
    // An error that belongs to a request was logged with it.
    app.log.fatal(requestContext.getStore() === undefined ? { err } : {}, failed ? 'Another uncaught error' : 'Uncaught error, closing')
    if (failed) return
    failed = true
    if (!app.hindsight.isClosing) close()
  }
  process.on('uncaughtException', fail)
  process.on('unhandledRejection', fail)
}

async function closeWithin (app: FastifyInstance, timeout: number): Promise<boolean> {
  let wasCut = false
  const timer = setTimeout(() => {
    wasCut = true
    app.log.warn(`Requests that were under way for ${timeout} ms were cut off (CLOSE_TIMEOUT)`)
    app.server.closeAllConnections()
  }, timeout)
  try {
    await app.close()
  } catch (err) {
    app.log.error({ err }, 'The application could not be closed as a whole')
    return true
  } finally {
    clearTimeout(timer)
  }
  return wasCut
}
