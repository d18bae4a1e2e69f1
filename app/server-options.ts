import type { FastifyHttpOptions, FastifyHttpsOptions } from 'fastify'
import type { Server, ServerOptions } from 'node:http'
import type { Server as HttpsServer, ServerOptions as HttpsOptions } from 'node:https'
import { messageOptions } from '../plugins/kernel/malformed.js'
import { limitsWith, type ServerLimits } from './server-limits.js'

const HEADER_LIMIT = 64 * 1024
/** How late a deadline may be noticed. */
const MAX_CHECK = 5_000
const MIN_CHECK = 50

/** What the server itself must know so that malformed messages are explained like all others, and none may take for ever. */
export function serverOptions (given: Partial<ServerLimits> = {}): FastifyHttpOptions<Server> {
  const limits = limitsWith(given)
  return { ...sharedOptions(limits), http: httpOptions(limits) }
}

/** The same for a server with TLS, which is made of the options beside its key and certificate alone: `https` has these. */
export function httpsServerOptions (https: HttpsOptions, given: Partial<ServerLimits> = {}): FastifyHttpsOptions<HttpsServer> {
  const limits = limitsWith(given)
  return { ...sharedOptions(limits), https: { ...httpOptions(limits), ...https } }
}

function sharedOptions ({ requestTimeout, connectionTimeout, keepAliveTimeout, bodyLimit, maxRequestsPerConnection }: ServerLimits): object {
  return { ...messageOptions(), requestTimeout, connectionTimeout, keepAliveTimeout, bodyLimit, maxRequestsPerSocket: maxRequestsPerConnection }
}

function httpOptions ({ headersTimeout, requestTimeout }: ServerLimits): ServerOptions {
  const shortest = Math.min(...[headersTimeout, requestTimeout].filter((time) => time > 0), 4 * MAX_CHECK)
  return {
    // A request without a host is refused by request validation, with a page, rather than by Node.js without one.
    requireHostHeader: false,
    maxHeaderSize: HEADER_LIMIT,
    headersTimeout,
    connectionsCheckingInterval: Math.max(MIN_CHECK, Math.floor(shortest / 4)),
    // A peer that has gone without a word is found out.
    keepAlive: true,
    keepAliveInitialDelay: 60_000
  }
}
