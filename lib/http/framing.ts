import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { badRequest } from './http-errors.js'
import { headerText } from './header-text.js'

const lastMessages = new WeakMap<Socket, IncomingMessage>()

/**
 * Why the end of a message is not certain although the parser has found one (RFC 9112, sections 2.3 and 6.1): a proxy
 * may have found another. Nothing after such a message on its connection is taken for a request.
 * Null where the end is certain.
 */
export function framingProblem (message: IncomingMessage): Error | null {
  const socket = socketOf(message)
  if (socket !== null && lastMessages.has(socket) && !isLast(message)) {
    return badRequest('This message follows one on its connection whose end is not certain.')
  }
  const problem = versionProblem(message) ?? codingProblem(message.headers['transfer-encoding'], message)
  if (problem !== null || asksForUpgrade(message)) markLast(message)
  return problem === null ? null : badRequest(problem)
}

/** Makes a message the last of its connection: those after it are refused, and its response closes the connection. */
export function markLast (message: IncomingMessage): void {
  const socket = socketOf(message)
  if (socket !== null) lastMessages.set(socket, message)
}

/** Whether a message is the last that its connection can have. */
export function isLast (message: IncomingMessage): boolean {
  const socket = socketOf(message)
  return socket !== null && lastMessages.get(socket) === message
}

// A request that a plugin of the application has constructed may have none.
function socketOf ({ socket }: { socket?: Socket | null }): Socket | null {
  return socket ?? null
}

// HTTP/2 has a connection of its own, HTTP/0.9 no headers: a version that is only claimed can smuggle requests.
function versionProblem (message: IncomingMessage): string | null {
  const { httpVersion } = message
  if (httpVersion === '1.1' || /^1\.[0-9]$/.test(httpVersion) || 'stream' in message) return null
  return `HTTP/${httpVersion} is not spoken on this connection: HTTP/1.1 is.`
}

function codingProblem (coding: string | undefined, { httpVersion }: IncomingMessage): string | null {
  if (coding === undefined || (httpVersion !== '1.0' && coding.toLowerCase() === 'chunked')) return null
  const why = httpVersion === '1.0' ? 'an HTTP/1.0 message has none' : 'only "chunked" is understood'
  return `Invalid Transfer-Encoding "${headerText(coding)}": ${why} (RFC 9112, section 6.1).`
}

// Without a listener for upgrades, Node.js drops what follows such a request in the same packet, even half a message.
function asksForUpgrade ({ headers: { upgrade, connection } }: IncomingMessage): boolean {
  return upgrade !== undefined && connection !== undefined && /(?:^|,)\s*upgrade\s*(?:,|$)/i.test(connection)
}
