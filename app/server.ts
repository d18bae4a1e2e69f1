import { writeSync } from 'node:fs'
import pino, { type DestinationStream } from 'pino'
import { closeInOrder } from './close.js'
import { readEnvironment } from './environment.js'

/** Bytes of lines that wait while they cannot be written; later lines are dropped. */
const MAX_WAITING = 1024 * 1024

/** Starts the service that `npm start` runs. */
async function start (): Promise<void> {
  const environment = readEnvironment()
  const { host, port, logLevel, options: hindsight } = environment
  const { default: Fastify } = await import('fastify')
  // It reads the environment too, so it is loaded after the check of the environment.
  const { default: application, options } = await import('./app.js')
  const trustProxy = hindsight.trustedProxies?.length ? hindsight.trustedProxies : false
  const app = Fastify({ ...options, logger: { level: logLevel, stream: logDestination() }, trustProxy })
  try {
    await app.register(application, { hindsight })
    await app.listen({ host, port })
  } catch (error) {
    await app.close()
    throw error
  }
  // After the start: a process that could not start would otherwise end with the exit code 0.
  closeInOrder(app, environment)
}

/** The destination of the log: a full disk or a closed pipe costs log lines, and the service keeps running. */
function logDestination (): DestinationStream {
  const destination = pino.destination({ dest: 1, sync: true, maxLength: MAX_WAITING })
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

start().catch((error: Error) => {
  process.stderr.write(`${error.message.replace(/\s*\n\s*/g, ' ')}\n`)
  process.exitCode = 1
})
