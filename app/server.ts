import closeWithGrace from 'close-with-grace'
import Fastify from 'fastify'
import { requestContext } from '../plugins/kernel/request-context.js'
import { readEnvironment, type Environment } from './environment.js'
import application, { options } from './app.js'

const GRACE = 10_000

/** The process that `npm start` runs. */
async function start ({ host, port, logLevel, options: hindsight }: Environment): Promise<void> {
  const app = Fastify({ ...options, logger: { level: logLevel }, trustProxy: hindsight.trustedProxies?.length ? hindsight.trustedProxies : false })
  try {
    await app.register(application, { hindsight })
    await app.listen({ host, port })
  } catch (error) {
    await app.close()
    throw error
  }
  // Behind the start: a process that could not start would otherwise be ended as one that has done its work, with 0.
  closeWithGrace({ delay: GRACE, logger: false }, async ({ signal, err }) => {
    // An error that belongs to a request was told there.
    if (err !== undefined) app.log.fatal(requestContext.getStore() === undefined ? { err } : {}, 'Uncaught error, closing')
    else app.log.info({ signal }, 'Closing')
    await app.close()
  })
}

try {
  await start(readEnvironment())
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exitCode = 1
}
