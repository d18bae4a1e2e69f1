import type { FastifyHttpOptions } from 'fastify'
import type { Server, ServerOptions } from 'node:http'
import { messageOptions } from '../plugins/kernel/malformed.js'
import { limitsWith, type ServerLimits } from './server-limits.js'

const HEADER_LIMIT = 64 * 1024
/** How late a deadline may be noticed. */
const MAX_CHECK = 5_000
const MIN_CHECK = 50

/** What the server itself must know so that malformed messages are explained like all others, and none may take for ever. */
export function serverOptions (given: Partial<ServerLimits> = {}): FastifyHttpOptions<Server> {
  const { headersTimeout, requestTimeout, connectionTimeout, keepAliveTimeout, bodyLimit, maxRequestsPerConnection } = limitsWith(given)
  const shortest = Math.min(...[headersTimeout, requestTimeout].filter((time) => time > 0), 4 * MAX_CHECK)
  const http: ServerOptions = {
    // A request without a host is refused by request validation, with a page, rather than by Node.js without one.
    requireHostHeader: false,
    maxHeaderSize: HEADER_LIMIT,
    headersTimeout,
    connectionsCheckingInterval: Math.max(MIN_CHECK, Math.floor(shortest / 4)),
    // A peer that has gone without a word is found out.
    keepAlive: true,
    keepAliveInitialDelay: 60_000
  }
  return { ...messageOptions(), requestTimeout, connectionTimeout, keepAliveTimeout, bodyLimit, maxRequestsPerSocket: maxRequestsPerConnection, http }
}
