import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { keptBy } from '../plugins/kernel/fastify-symbols.js'
import { endGently, stageOf } from '../plugins/kernel/malformed.js'
import { limitsWith, type ServerLimits } from './server-limits.js'
import { cutOffUnread } from './unread-responses.js'

/** Milliseconds from one warning of connections that were turned away to the next. */
const QUIET = 60_000
/** Milliseconds for which a connection that has become idle may hold up the end. */
const IDLE_CHECK = 50
/** Milliseconds that a client has for the rest of a body that nobody wants, where its connection is kept, and for its first octets when the end has begun. */
const PATIENCE = 1_000
/** How many requests of one connection may wait for their answers: Node.js takes in whatever came in one packet. */
const MAX_PIPELINED = 32

const kPipelined = Symbol('hindsight.pipelined')
type Connection = Socket & { [kPipelined]?: number }

/**
 * Bounds the connections of a server: how many there may be, how many requests one may have under way,
 * how long a client may leave a response unread, and how long it may go on with a body when it was answered.
 */
export function boundConnections (app: FastifyInstance, given: Partial<ServerLimits> = {}): void {
  const limits = limitsWith(given)
  const silent = new Map<Server, () => void>()
  const bind = (server: Server): void => { silent.set(server, bound(app, server, limits)) }
  bind(app.server)
  // `localhost` may be several addresses, each with a server of its own from then on.
  app.addHook('onListen', async function boundOthers () {
    keptBy<Server[]>(app, 'fastify.serverBindings')?.forEach(bind)
  })
  app.addHook('preClose', async function endIdle () {
    const until = performance.now() + PATIENCE
    for (const [server, endSilent] of silent) {
      if (!server.listening) continue
      const timer = setInterval(() => {
        // What becomes idle only now would be kept for its next request, and the end waits for it.
        server.closeIdleConnections()
        if (performance.now() > until) endSilent()
      }, IDLE_CHECK)
      server.once('close', () => clearInterval(timer))
    }
  })
}

// What ends those that have not said anything yet, which are not idle to Node.js: ahead of TLS, or out of it.
function bound (app: FastifyInstance, server: Server, { maxConnections, bodyLimit }: ServerLimits): () => void {
  if (maxConnections > 0) server.maxConnections = maxConnections
  const open = new Set<Socket>()
  for (const event of ['connection', 'secureConnection']) {
    server.on(event, (socket: Socket) => {
      open.add(socket)
      socket.once('close', () => open.delete(socket))
    })
  }
  let toldAt = -Infinity
  server.on('drop', () => {
    if (performance.now() - toldAt < QUIET) return
    toldAt = performance.now()
    app.log.warn({ channel: 'server' }, `A connection was turned away: ${maxConnections} are open already (MAX_CONNECTIONS)`)
  })
  cutOffUnread(app, server)
  // In place of Fastify's own listener, which would go on with what came in the same packet as that which was too much.
  const handlers = server.listeners('request')
  server.removeAllListeners('request')
  server.on('request', (message: IncomingMessage, response: ServerResponse) => {
    if (stageOf(message.socket) === 'working' && isTooMuch(message.socket, response)) return
    const { 'transfer-encoding': coding, 'content-length': length } = message.headers
    if (coding !== undefined || Number(length) > bodyLimit) response.prependOnceListener('finish', () => refuseRest(message))
    for (const handle of handlers) handle.call(server, message, response)
  })
  return () => { for (const socket of open) if (socket.bytesRead === 0) socket.destroy() }
}

function isTooMuch (socket: Connection, response: ServerResponse): boolean {
  const waiting = (socket[kPipelined] ?? 0) + 1
  if (waiting > MAX_PIPELINED) {
    socket.destroy()
    return true
  }
  socket[kPipelined] = waiting
  response.once('close', () => { socket[kPipelined] = (socket[kPipelined] ?? 1) - 1 })
  return false
}

// Of a body whose request was answered.
function refuseRest (message: IncomingMessage): void {
  if (message.complete) return
  const { socket } = message
  socket.destroySoon = () => endGently(socket)
  setTimeout(() => { if (!message.complete) socket.destroy() }, PATIENCE).unref()
}
