import { hasSubscribers } from 'node:diagnostics_channel'
import type { FastifyInstance } from 'fastify'
import { privateInstance } from './page-server.js'
import { trackInternalWork } from './recording/event-loop.js'
import { requestContext } from './recording/trace.js'

/** The global object of OpenTelemetry's API, whose instrumentations of Fastify observe all instances. */
const TELEMETRY = Symbol.for('opentelemetry.js.api.1')
/** The names of the channels on which Fastify publishes requests. */
const CHANNELS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error']
const URLS = ['/', '/failure', '/missing']
let hasBegun = false

/**
 * Records requests of a private instance, once for a process: what is compiled and loaded for the first one would
 * otherwise be in the time of the application's first request. `observe` adds the hooks.
 */
export async function warmUp (observe: (app: FastifyInstance) => Promise<unknown>): Promise<void> {
  // What traces the process would record these requests.
  const isObserved = CHANNELS.some((name) => hasSubscribers(`tracing:fastify.request.handler:${name}`))
  if (hasBegun || isObserved || TELEMETRY in globalThis) return
  hasBegun = true
  const app = await privateInstance()
  try {
    await observe(app)
    app.get('/', async () => ({ ok: true }))
    app.get('/failure', async () => { throw new Error('An error to warm up with') })
    await app.ready()
    await requestContext.run(undefined, () => trackInternalWork(async () => {
      for (const url of URLS) await app.inject(url)
    }))
  } finally {
    await app.close()
  }
}
