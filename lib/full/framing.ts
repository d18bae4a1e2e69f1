import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { headerText } from '../http/header-text.js'
import { badRequest } from '../http/http-errors.js'

const lastMessages = new WeakMap<Socket, IncomingMessage>()

/** Why the end of a message is uncertain (RFC 9112, section 6.1): no message after it is handled. Null if it is not. */
export function framingProblem (message: IncomingMessage): Error | null {
  const last = lastMessages.get(message.socket)
  if (last !== undefined && last !== message) {
    return badRequest('This message follows one on its connection whose end is not certain.')
  }
  const problem = versionProblem(message) ?? codingProblem(message)
  if (problem !== null || requestsUpgrade(message)) markAsLast(message)
  return problem === null ? null : badRequest(problem)
}

/** Makes a message the last of its connection: those after it are refused, and its response closes the connection. */
export function markAsLast (message: IncomingMessage): void {
  // A request that a plugin of the application constructs may have no socket.
  const socket = message.socket as Socket | null | undefined
  if (socket) lastMessages.set(socket, message)
}

/** Whether a message is the last of its connection. */
export function isLast (message: IncomingMessage): boolean {
  return lastMessages.get(message.socket) === message
}

// HTTP/2 has other connections, and HTTP/0.9 no headers: a false version can be an attempt to smuggle requests.
function versionProblem (message: IncomingMessage): string | null {
  if (message.httpVersion.startsWith('1.') || 'stream' in message) return null
  return `HTTP/${message.httpVersion} is not supported on this connection; use HTTP/1.1.`
}

function codingProblem ({ headers: { 'transfer-encoding': coding }, httpVersion }: IncomingMessage): string | null {
  if (coding === undefined || (httpVersion !== '1.0' && coding.toLowerCase() === 'chunked')) return null
  const why = httpVersion === '1.0' ? 'an HTTP/1.0 message has none' : 'only "chunked" is supported'
  return `Invalid Transfer-Encoding "${headerText(coding)}": ${why} (RFC 9112, section 6.1).`
}

// Without a listener for upgrades, Node.js drops the rest of the packet of such a request, even half a message.
function requestsUpgrade ({ headers: { upgrade, connection } }: IncomingMessage): boolean {
  return upgrade !== undefined && /(?:^|,)\s*upgrade\s*(?:,|$)/i.test(connection ?? '')
}
