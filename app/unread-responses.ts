import { Server as HttpServer } from 'node:http'
import { Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { stageOf } from '../plugins/kernel/malformed.js'

/** Milliseconds between two looks at the connections, by which one may be cut off late. */
const MAX_CHECK = 5_000
const MIN_CHECK = 50

/**
 * Cuts off who leaves a response unread for Fastify's `connectionTimeout`. Node.js would give each connection a timer at each request, to end it again
 * with the response; here those that have something unread are looked for now and then, and given one.
 */
export function cutOffUnread (app: FastifyInstance, server: HttpServer): void {
  if (server.listening) watch(server)
  else server.once('listening', () => watch(server))
  // Node.js leaves the connection to who listens.
  server.on('timeout', (socket: Socket) => {
    const stage = stageOf(socket)
    if (socket.writableLength === 0 && (stage === 'working' || (stage === 'new' && server.headersTimeout > 0))) {
      // Its handler takes its time, or what it sends does, for which there is a time of its own.
      socket.setTimeout(server.timeout)
      return
    }
    if (socket.writableLength > 0) app.log.info({ channel: 'server', ip: socket.remoteAddress }, 'A client that did not read its response was cut off')
    socket.destroy()
  })
}

function watch (server: HttpServer): void {
  const { timeout } = server
  const event = server instanceof HttpServer ? 'connection' : (server as object) instanceof HttpsServer ? 'secureConnection' : null
  // HTTP/2 has timers of its sessions; without a time for connections that are kept, Node.js ends these by its own timer.
  if (timeout === 0 || event === null || server.keepAliveTimeout === 0) return
  server.timeout = 0
  const open = new Set<Socket>()
  server.on(event, (socket: Socket) => {
    // Node.js takes any stream for a connection.
    if (typeof socket.setTimeout !== 'function') return
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    // Nothing else ends one that never says what it wants.
    if (server.headersTimeout === 0) socket.setTimeout(timeout)
  })
  const look = setInterval(() => {
    for (const socket of open) if (socket.writableLength > 0 && !socket.timeout) socket.setTimeout(timeout)
  }, Math.max(MIN_CHECK, Math.min(MAX_CHECK, Math.floor(timeout / 4))))
  look.unref()
  server.once('close', () => clearInterval(look))
}
