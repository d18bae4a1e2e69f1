import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'

/** Listens on a port, any free one by default, and stops. Resolves to the port; rejects if another process listens there. */
export async function takePort (port = 0): Promise<number> {
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  const { port: taken } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return taken
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
