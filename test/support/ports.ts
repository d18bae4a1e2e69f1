import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'

/** Listens on a port, any free one by default, and stops. Resolves to the port; rejects if another process listens there. */
export async function takePort (port = 0): Promise<number> {
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  const { port: taken } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return taken
}
