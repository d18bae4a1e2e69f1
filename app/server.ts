import { closeInOrder } from './close.js'
import { readEnvironment, type Environment } from './environment.js'
import { logDestination } from './log-destination.js'

/** The process that `npm start` runs. */
async function start (environment: Environment): Promise<void> {
  const { host, port, logLevel, options: hindsight } = environment
  const { default: Fastify } = await import('fastify')
  // It reads the environment too: behind the check that tells what is wrong with it.
  const { default: application, options } = await import('./app.js')
  const app = Fastify({ ...options, logger: { level: logLevel, stream: logDestination() }, trustProxy: hindsight.trustedProxies?.length ? hindsight.trustedProxies : false })
  try {
    await app.register(application, { hindsight })
    await app.listen({ host, port })
  } catch (error) {
    await app.close()
    throw error
  }
  // Behind the start: a process that could not start would otherwise be ended as one that has done its work, with 0.
  closeInOrder(app, environment)
}

try {
  await start(readEnvironment())
} catch (error) {
  process.stderr.write(`${(error as Error).message.replace(/\s*\n\s*/g, ' ')}\n`)
  process.exitCode = 1
}
