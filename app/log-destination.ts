import { writeSync } from 'node:fs'
import pino, { type DestinationStream } from 'pino'

/** Bytes of lines that wait for a place that cannot be written to; later ones are dropped. */
const MAX_WAITING = 1024 * 1024

/** Where the log goes, so that a full disk behind it (or nobody who reads it any more) costs lines and not the service. */
export function logDestination (fd = 1): DestinationStream {
  const destination = pino.destination({ dest: fd, sync: true, maxLength: MAX_WAITING })
  let told = false
  destination.on('error', (error: Error) => {
    if (told) return
    told = true
    try {
      writeSync(2, `The log cannot be written, lines are lost: ${error.message}\n`)
    } catch {}
  })
  // Each line is written at once: what is left is what could not be, and pino would try that without an end, ahead of the process's own.
  destination.flushSync = () => {}
  return destination
}
