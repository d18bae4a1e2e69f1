import type { Server } from 'node:http'
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
export function cutOffUnread (app: FastifyInstance, server: Server): void {
  const { timeout } = server
  // HTTP/2 has timers of its sessions.
  if (timeout > 0 && app.initialConfig.http2 !== true) {
    server.timeout = 0
    const open = new Set<Socket>()
    server.on(app.initialConfig.https ? 'secureConnection' : 'connection', (socket: Socket) => {
      open.add(socket)
      socket.once('close', () => open.delete(socket))
      // Nothing else ends one that never says what it wants.
      if (server.headersTimeout === 0) socket.setTimeout(timeout)
    })
    const look = (): void => {
      for (const socket of open) if (socket.writableLength > 0 && !socket.timeout && stageOf(socket) === 'working') socket.setTimeout(timeout)
    }
    const begin = (): void => {
      const timer = setInterval(look, Math.max(MIN_CHECK, Math.min(MAX_CHECK, Math.floor(timeout / 4))))
      timer.unref()
      server.once('close', () => clearInterval(timer))
    }
    if (server.listening) begin()
    else server.once('listening', begin)
  }
  // Node.js leaves the connection to who listens.
  server.on('timeout', (socket: Socket) => {
    if (socket.writableLength === 0 && stageOf(socket) === 'working') {
      // Its handler takes its time, or what it sends does.
      socket.setTimeout(server.timeout)
      return
    }
    if (socket.writableLength > 0) app.log.info({ channel: 'server', ip: socket.remoteAddress }, 'A client that did not read its response was cut off')
    socket.destroy()
  })
}
