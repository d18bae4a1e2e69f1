import { join } from 'node:path'
import closeWithGrace from 'close-with-grace'
import Fastify from 'fastify'
import { options } from '../../app/app.js'
import { readEnvironment } from '../../app/environment.js'
import articles from './app.js'

/** The process that `npm run example` runs. */
async function start (): Promise<void> {
  const { host, port, logLevel, options: service } = readEnvironment()
  const { DATA_DIR } = process.env
  const { trustedProxies = [] } = service
  const trustProxy = trustedProxies.length > 0 ? trustedProxies : false
  const app = Fastify({ ...options, logger: { level: logLevel }, trustProxy })
  try {
    await app.register(articles, { service, directory: DATA_DIR ? join(DATA_DIR, 'articles') : undefined })
    await app.listen({ host, port })
  } catch (error) {
    await app.close()
    throw error
  }
  closeWithGrace({ logger: app.log }, () => app.close())
}

try {
  await start()
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exitCode = 1
}
