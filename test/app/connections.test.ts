import dns from 'node:dns'
import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import { connect as connectTls } from 'node:tls'
import t from 'tap'
import { httpsServerOptions, serverOptions } from '../../app/server-options.js'
import { until } from '../reliability/start.js'
import { build } from '../support/app.js'
import { certificate } from '../support/certificate.js'

const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'
const ADDRESSES = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }))

type Lookup = (host: string, ...given: Array<{ all?: boolean } | ((...found: unknown[]) => void)>) => void

/** Gives `localhost` two addresses, as it has where there is IPv6; the way back. */
function twoAddresses (): () => void {
  const { lookup } = dns
  const answer: Lookup = (host, ...given) => {
    const done = given.at(-1) as (...found: unknown[]) => void
    if (host !== 'localhost') (lookup as Lookup)(host, ...given)
    else if ((given[0] as { all?: boolean }).all === true) done(null, ADDRESSES)
    else done(null, '127.0.0.1', 4)
  }
  dns.lookup = answer as typeof dns.lookup
  return () => { dns.lookup = lookup }
}

t.test('each address of a host has the limits, and ends with the application', { skip: process.platform !== 'linux' && '127.0.0.2 is an address of Linux' }, async (t) => {
  t.teardown(twoAddresses())
  const lines: string[] = []
  const app = await build({
    profiler: false,
    limits: { maxConnections: 2 },
    server: { ...serverOptions({ connectionTimeout: 500 }), logger: { level: 'info', stream: { write: (line: string) => { lines.push(line) } } } } as object,
    declare: (app) => {
      app.get('/', () => 'x')
      app.get('/large', () => 'x'.repeat(16 * 1024 * 1024))
    }
  })
  await app.listen({ host: 'localhost', port: 0 })
  const addresses = app.addresses() as AddressInfo[]
  t.same(addresses.map(({ address }) => address).sort(), ADDRESSES.map(({ address }) => address))
  const said = (text: string): number => lines.filter((line) => line.includes(text)).length
  let cutOff = 0
  for (const { address, port } of addresses) {
    const kept = [connect(port, address), connect(port, address)]
    await Promise.all(kept.map(async (socket) => await once(socket, 'connect')))
    const third = connect(port, address).on('error', () => {})
    await once(third, 'close')
    t.equal(third.bytesRead, 0, `${address}: one too many`)
    for (const socket of kept) socket.end()
    await Promise.all(kept.map(async (socket) => await once(socket.resume(), 'close')))
    const unread = connect(port, address).on('error', () => {})
    unread.pause()
    unread.write(REQUEST.replace('/', '/large'))
    cutOff++
    await until(async () => said('A client that did not read its response was cut off'), (count) => count === cutOff)
    t.pass(`${address}: who does not read is cut off`)
    unread.destroy()
  }
  t.equal(said('A connection was turned away: 2 are open already (MAX_CONNECTIONS)'), 2)
  const silent = addresses.map(({ address, port }) => connect(port, address))
  await Promise.all(silent.map(async (socket) => await once(socket, 'connect')))
  await app.close()
  t.same(silent.map(({ bytesRead }) => bytesRead), [0, 0], 'who never said anything does not hold up the end')
  await Promise.all(silent.map(async (socket) => socket.closed || await once(socket.resume(), 'close')))
})

const tls = certificate()
t.test('over TLS, who never said anything does not hold up the end', { skip: tls === null && 'no openssl: install it' }, async (t) => {
  const app = await build({ profiler: false, server: httpsServerOptions(tls as object) as object })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const [{ port }] = app.addresses() as [AddressInfo]
  const before = connect(port, '127.0.0.1')
  const behind = connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca: tls?.cert })
  await Promise.all([once(before, 'connect'), once(behind, 'secureConnect')])
  await app.close()
  t.pass('neither ahead of the handshake nor behind it')
  before.destroy()
  behind.destroy()
})
