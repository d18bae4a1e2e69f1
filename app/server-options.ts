import type { FastifyHttpOptions } from 'fastify'
import type { Server } from 'node:http'
import { messageOptions } from '../plugins/kernel/malformed.js'

const HEADER_LIMIT = 64 * 1024

/** What the server itself must know so that malformed messages are explained like all others. */
export function serverOptions (): FastifyHttpOptions<Server> {
  return {
    ...messageOptions(),
    // A request without a host is refused by request validation, with a page, rather than by Node.js without one.
    http: { requireHostHeader: false, maxHeaderSize: HEADER_LIMIT }
  }
}
