import { setTimeout as sleep } from 'node:timers/promises'

/** Rejects where a promise takes longer than these milliseconds; until then the process does not end. */
export async function inTime<T> (promise: Promise<T>, milliseconds: number): Promise<T> {
  const timer = new AbortController()
  const late = sleep(milliseconds, undefined, { signal: timer.signal }).then(() => { throw new Error(`Nothing came within ${milliseconds} ms`) })
  late.catch(() => {})
  try {
    return await Promise.race([promise, late])
  } finally {
    timer.abort()
  }
}
