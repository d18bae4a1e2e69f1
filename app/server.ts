import { closeInOrder } from './close.js'
import { readEnvironment } from './environment.js'
import { logDestination } from './log-destination.js'

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

start().catch((error: Error) => {
  process.stderr.write(`${error.message.replace(/\s*\n\s*/g, ' ')}\n`)
  process.exitCode = 1
})
