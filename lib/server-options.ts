import type { Server, ServerOptions } from 'node:http'
import type { Server as HttpsServer, ServerOptions as HttpsOptions } from 'node:https'
import type { Socket } from 'node:net'
import type { FastifyHttpOptions, FastifyHttpsOptions, FastifyInstance } from 'fastify'
import { checkOptions } from 'fastify-hindsight/recorder'
import { SERVER_OPTIONS } from './check-options.js'
import { validatedMessages } from './malformed.js'
import type { ServerSettings } from './options.js'

const DEFAULTS = Object.fromEntries(
  Object.entries(SERVER_OPTIONS).map(([name, schema]) => [name, schema.default])
) as object as ServerSettings

/** Milliseconds between two checks of Node.js for connections that exceed a timeout. */
const CHECK_INTERVAL = 1_000
const WARN_INTERVAL = 60_000
const CLOSE_INTERVAL = 100

/** The server options: how malformed messages are answered, and the limits of clients. */
export function serverOptions (given: Partial<ServerSettings> = {}): FastifyHttpOptions<Server> {
  const { fastify, node } = optionsOf(given)
  return { ...fastify, http: node }
}

/** The server options for TLS. Fastify accepts no `http` with `https`: its options are in `https` here. */
export function httpsServerOptions (
  https: HttpsOptions, given: Partial<ServerSettings> = {}
): FastifyHttpsOptions<HttpsServer> {
  const { fastify, node } = optionsOf(given)
  return { ...fastify, https: { ...node, ...https } }
}

/** The options of Fastify, and those of the server of Node.js. */
function optionsOf (given: Partial<ServerSettings>): { fastify: object, node: ServerOptions } {
  checkOptions(given, SERVER_OPTIONS)
  const { methodOverride, headersTimeout, maxConnections: _, ...limits } = { ...DEFAULTS, ...given }
  return {
    fastify: { ...validatedMessages(methodOverride), ...limits },
    node: {
      maxHeaderSize: 64 * 1024,
      headersTimeout,
      connectionsCheckingInterval: CHECK_INTERVAL,
      // The system detects unreachable peers, which have not closed their connections.
      keepAlive: true,
      keepAliveInitialDelay: 60_000
    }
  }
}

/** Limits the number of connections; while the application closes, ends those without a request. */
export function boundConnections (app: FastifyInstance, given: Partial<ServerSettings>): void {
  const { server, log } = app
  const { maxConnections } = { ...DEFAULTS, ...given }
  if (maxConnections > 0) server.maxConnections = maxConnections
  let warnedAt = -Infinity
  server.on('drop', () => {
    if (performance.now() - warnedAt < WARN_INTERVAL) return
    warnedAt = performance.now()
    log.warn({ channel: 'server' }, `A connection was refused: ${maxConnections} are open already (MAX_CONNECTIONS)`)
  })
  // For Node.js, a connection that has sent nothing is not idle; browsers open such connections in advance.
  const open = new Set<Socket>()
  for (const event of ['connection', 'secureConnection']) {
    server.on(event, (socket: Socket) => { open.add(socket.once('close', () => open.delete(socket))) })
  }
  app.addHook('preClose', async function closeUnused () {
    if (!server.listening) return
    // `server.close()` closes only the connections that are idle at that moment.
    const timer = setInterval(() => {
      server.closeIdleConnections()
      for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
    }, CLOSE_INTERVAL)
    server.once('close', () => clearInterval(timer))
  })
}
