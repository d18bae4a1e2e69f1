import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/** Systems choose higher ports for connections and for servers without a port: those are not free for long. */
const [FIRST, LAST] = [12_000, 32_000]

/** A port that is free. */
export async function freePort (): Promise<number> {
  const port = randomInt(FIRST, LAST)
  try {
    await takePort(port)
    return port
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    return await freePort()
  }
}

/** Ports that are free, each another one. */
export async function freePorts (count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) ports.add(await freePort())
  return [...ports]
}

/** Listens on a port, and stops; rejects if another process listens there. */
export async function takePort (port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  server.close()
  await once(server, 'close')
}

/** Connects to a port and closes the connection; rejects where nothing listens. */
export async function connectTo (port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
  } finally {
    socket.destroy()
  }
}
