import { errorMonitor, EventEmitter } from 'node:events'
import { requestContext, type RequestTrace } from './trace.js'

const EVENTS = ['message', 'ping', 'pong', 'close', errorMonitor]
const watched = new WeakSet<EventEmitter>()

/**
 * Lets the listeners of a WebSocket run in the asynchronous context of the request that has opened it, where the plugin
 * is @fastify/websocket. Otherwise they run in that of the connection, and what they raise and log has no request.
 */
export function watchWebSockets ({ request }: RequestTrace): void {
  const { websocketServer: server } = request.server as { websocketServer?: unknown }
  if (!(server instanceof EventEmitter) || watched.has(server)) return
  watched.add(server)
  server.prependListener('connection', (socket: unknown) => {
    const context = requestContext.getStore()
    if (context === undefined || !(socket instanceof EventEmitter)) return
    for (const name of EVENTS) socket.prependListener(name, () => requestContext.enterWith(context))
  })
}
