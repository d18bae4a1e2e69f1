import { writeSync } from 'node:fs'
import pino, { type DestinationStream } from 'pino'

/** Bytes of lines that wait while they cannot be written; later lines are dropped. */
const MAX_WAITING = 1024 * 1024

/** The destination of the log: a full disk or a closed pipe costs log lines, and the service keeps running. */
export function logDestination (fd = 1): DestinationStream {
  const destination = pino.destination({ dest: fd, sync: true, maxLength: MAX_WAITING })
  destination.once('error', (error: Error) => {
    destination.on('error', () => {})
    try {
      writeSync(2, `The log cannot be written, lines are lost: ${error.message}\n`)
    } catch {}
  })
  // Lines are written at once. pino would retry the remaining ones without end, and the process would not exit.
  destination.flushSync = () => {}
  return destination
}
