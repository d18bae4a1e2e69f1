import { setTimeout as sleep } from 'node:timers/promises'
import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import { requestContext } from '../plugins/kernel/request-context.js'

export interface CloseOptions {
  /** Milliseconds for which a service that was told to end still answers, as one that is not ready. */
  closeDelay: number
  /** Milliseconds for the requests that are under way then; those that take longer are cut off. */
  closeTimeout: number
}

/** Milliseconds behind that for profiles to be written and stores to be closed. */
const FLUSH = 8_000

/**
 * Ends the process in order when it is told to or when an error was caught by nobody: requests under way are answered, profiles
 * written, stores closed. A second signal ends it at once.
 */
export function closeInOrder (app: FastifyInstance, { closeDelay, closeTimeout }: CloseOptions): void {
  let failed = false
  const { close } = closeWithGrace({ delay: closeDelay + closeTimeout + FLUSH, logger: false, skip: ['uncaughtException', 'unhandledRejection'] }, async ({ signal }) => {
    app.hindsight.isClosing = true
    if (!failed) {
      app.log.info({ signal }, 'Closing')
      await sleep(closeDelay)
    }
    const wasCut = await closeWithin(app, closeTimeout)
    // Its rejection makes the exit code 1.
    if (failed || wasCut) throw new Error('not all was done')
  })
  // Whatever else fails meanwhile is told, and does not keep the profiles from being written.
  function fail (err: unknown): void {
    // An error that belongs to a request was told there.
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
