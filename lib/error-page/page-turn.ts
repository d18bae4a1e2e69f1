import { setImmediate } from 'node:timers'

/** Milliseconds of one turn of the event loop in which diagnostic pages are made. */
const LIMIT = 50

/** When the first page of this turn began, on the clock of `performance.now()`; 0: there is none. */
let startedAt = 0

/**
 * Undefined if a page may be made in this turn of the event loop. Otherwise a promise that is fulfilled in a turn with
 * time for it: many failures at once do not block other requests.
 */
export function pageTurn (): Promise<void> | undefined {
  return hasTime() ? undefined : turnWithTime()
}

async function turnWithTime (): Promise<void> {
  do await new Promise((resolve) => { setImmediate(resolve) })
  while (!hasTime())
}

function hasTime (): boolean {
  const now = performance.now()
  if (startedAt === 0) {
    startedAt = now
    setImmediate(() => { startedAt = 0 })
  }
  return now - startedAt < LIMIT
}
