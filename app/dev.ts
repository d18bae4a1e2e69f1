import { subscribe } from 'node:diagnostics_channel'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import cli from 'fastify-cli/helper.js'
import { printFailure, serveFailure } from 'fastify-hindsight/recorder'

/** What `npm run dev` runs: the service, as fastify-cli starts it. Where it cannot start, the browser shows why. */
async function start (): Promise<void> {
  const { HOST: host = '127.0.0.1', PORT: port = '3000' } = process.env
  let app: FastifyInstance | undefined
  subscribe('fastify.initialization', (message) => { app ??= (message as { fastify: FastifyInstance }).fastify })
  try {
    // fastify-cli ends the process where it cannot load the file itself.
    const application = await import('./app.js')
    const flags = ['--options', '--pretty-logs', '--log-level', 'info', '--close-grace-delay', '4000']
    await cli.listen([...flags, '--address', host, join(import.meta.dirname, 'app.ts')], {}, {}, application)
  } catch (error) {
    await app?.close()
    await printFailure(error, app)
    await serveFailure(error, { host, port: Number(port) }, app)
  }
}

await start()
