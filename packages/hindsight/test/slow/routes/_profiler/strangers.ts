import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** A route of the table, and a path that comes to it. */
export interface Route {
  method: string
  pattern: string
  path: string
}

export interface Answer {
  status: number
  head: string
  body: string
}

interface Asked {
  path: string
  method?: string
  version?: '1.0' | '1.1'
  /** Scheme and authority of a target in absolute form. */
  absolute?: string
  /** Null leaves one out; `X-From` is the address that the connection comes from. */
  headers?: Record<string, string | null>
  form?: Record<string, string>
  /** Milliseconds without data after which an open connection is abandoned. */
  wait?: number
}

/** Without an answer for so long (ms), a test fails. */
const PATIENCE = 60_000

/** Puts values for the parameters of a pattern; throws at one that has none. */
export function asRoute (method: string, pattern: string, params: Readonly<Record<string, string>>): Route {
  const path = pattern.replace(/:([A-Za-z]+)(?:\([^)]*\))?/g, (_text, name: string) => {
    const value = params[name]
    if (value === undefined) throw new Error(`No value is known for "${name}" of ${pattern}`)
    return value
  })
  return { method, pattern, path }
}

/** Listens, and has connections come from where a request on them says: a machine need not have a network. */
export async function listen (app: FastifyInstance): Promise<number> {
  app.server.prependListener('request', comesFrom)
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port
}

/** Has the connection of a message come from where that says. */
export function comesFrom ({ headers, socket }: IncomingMessage): void {
  const from = headers['x-from']
  if (typeof from === 'string') Object.defineProperty(socket, 'remoteAddress', { value: from })
}

/** Sends a message on a new connection; a stream is abandoned after its first data. */
export async function ask (port: number, asked: Asked): Promise<Answer> {
  const { path, method = 'GET', version = '1.1', absolute = '', headers = {}, form, wait = PATIENCE } = asked
  const body = form === undefined || method === 'GET' || method === 'HEAD' ? '' : new URLSearchParams(form).toString()
  const all: Record<string, string | null> = {
    Host: `127.0.0.1:${port}`,
    Connection: 'close',
    ...(body !== '' && { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': String(body.length) }),
    ...headers
  }
  const lines = Object.entries(all).filter(([, value]) => value !== null).map(([name, value]) => `${name}: ${value}\r\n`)
  return await new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(`${method} ${absolute}${path} HTTP/${version}\r\n${lines.join('')}\r\n${body}`))
    socket.setTimeout(wait, () => socket.destroy(wait === PATIENCE ? new Error(`${method} ${path} was not answered`) : undefined))
    socket.on('data', (chunk) => {
      text += String(chunk)
      if (/^content-type: text\/event-stream/im.test(text)) socket.destroy()
    })
    socket.on('error', (error: NodeJS.ErrnoException) => { if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error) })
    socket.on('close', () => {
      const [head = '', ...rest] = text.split('\r\n\r\n')
      resolve({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0), head, body: rest.join('\r\n\r\n') })
    })
  })
}
