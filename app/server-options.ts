import type { FastifyHttpOptions, FastifyHttpsOptions } from 'fastify'
import type { Server, ServerOptions } from 'node:http'
import type { Server as HttpsServer, ServerOptions as HttpsOptions } from 'node:https'
import { messageOptions, type MessageOptions } from '../lib/http/malformed.js'
import { limitsWith, type ServerLimits } from './server-limits.js'

const HEADER_LIMIT = 64 * 1024
/** Milliseconds by which a timeout may be noticed late. */
const MAX_CHECK = 5_000
const MIN_CHECK = 50

/** The server options: how malformed messages are answered, and how much time and memory a client may take. */
export function serverOptions (given: Partial<ServerLimits> & MessageOptions = {}): FastifyHttpOptions<Server> {
  const { methodOverride = false, ...rest } = given
  const limits = limitsWith(rest)
  return { ...sharedOptions(limits, { methodOverride }), http: httpOptions(limits) }
}

/** The same for a server with TLS: Fastify takes no `http` beside `https`, so its options are in `https` here. */
export function httpsServerOptions (
  https: HttpsOptions,
  given: Partial<ServerLimits> & MessageOptions = {}
): FastifyHttpsOptions<HttpsServer> {
  const { methodOverride = false, ...rest } = given
  const limits = limitsWith(rest)
  return { ...sharedOptions(limits, { methodOverride }), https: { ...httpOptions(limits), ...https } }
}

function sharedOptions (limits: ServerLimits, message: MessageOptions): object {
  const { requestTimeout, connectionTimeout, keepAliveTimeout, bodyLimit, maxRequestsPerConnection } = limits
  return {
    ...messageOptions(message),
    requestTimeout,
    connectionTimeout,
    keepAliveTimeout,
    bodyLimit,
    maxRequestsPerSocket: maxRequestsPerConnection
  }
}

function httpOptions ({ headersTimeout, requestTimeout }: ServerLimits): ServerOptions {
  const shortest = Math.min(...[headersTimeout, requestTimeout].filter((time) => time > 0), 4 * MAX_CHECK)
  return {
    // A request without a host is refused by request validation, with a page, rather than by Node.js without one.
    requireHostHeader: false,
    maxHeaderSize: HEADER_LIMIT,
    headersTimeout,
    connectionsCheckingInterval: Math.max(MIN_CHECK, Math.floor(shortest / 4)),
    // The system detects peers that have gone without closing their connections.
    keepAlive: true,
    keepAliveInitialDelay: 60_000
  }
}
