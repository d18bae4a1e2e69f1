import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { limitsWith, type ServerLimits } from './server-limits.js'

const WARN_INTERVAL = 60_000
const CLOSE_INTERVAL = 100

/** Bounds how many connections there are; while the application closes, ends those without a request. */
export function boundConnections (app: FastifyInstance, given: Partial<ServerLimits> = {}): void {
  const { server, log } = app
  const { maxConnections } = limitsWith(given)
  if (maxConnections > 0) server.maxConnections = maxConnections
  let warnedAt = -Infinity
  server.on('drop', () => {
    if (performance.now() - warnedAt < WARN_INTERVAL) return
    warnedAt = performance.now()
    const message = `A connection was turned away: ${maxConnections} are open already (MAX_CONNECTIONS)`
    log.warn({ channel: 'server' }, message)
  })
  // For Node.js, a connection that has sent nothing is not idle; browsers open such connections in advance.
  const open = new Set<Socket>()
  for (const event of ['connection', 'secureConnection']) {
    server.on(event, (socket: Socket) => { open.add(socket.once('close', () => open.delete(socket))) })
  }
  app.addHook('preClose', async function closeUnused () {
    if (!server.listening) return
    // `server.close()` closes what is idle at that moment. A connection that is answered later would be kept open.
    const timer = setInterval(() => {
      server.closeIdleConnections()
      for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
    }, CLOSE_INTERVAL)
    server.once('close', () => clearInterval(timer))
  })
}
