import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { badRequest } from './http-errors.js'
import { headerText } from './header-text.js'

const kLast = Symbol('hindsight.lastMessage')
type Connection = Socket & { [kLast]?: IncomingMessage }

/**
 * Why nobody can be sure where a message ends, though the parser has found an end (RFC 9112, sections 2.3 and 6.1): whoever
 * passed it on may have found another. Nothing behind such a message on its connection is taken for a request.
 */
export function framingProblem (message: IncomingMessage): Error | null {
  const connection = connectionOf(message)
  if (connection?.[kLast] !== undefined && !isLast(message)) {
    return badRequest('Nothing can be told of this message: it came behind one whose end is not certain.')
  }
  const problem = versionProblem(message) ?? codingProblem(message.headers['transfer-encoding'], message)
  if (connection !== null && (problem !== null || asksForUpgrade(message))) connection[kLast] = message
  return problem === null ? null : badRequest(problem)
}

/** Whether a message is the last that its connection can have, as nobody can be sure what on it begins where. */
export function isLast (message: IncomingMessage): boolean {
  return connectionOf(message)?.[kLast] === message
}

// What a plugin of the application makes up for a request may have none.
function connectionOf ({ socket }: { socket?: Socket | null }): Connection | null {
  return socket ?? null
}

// HTTP/2 has a preface and a connection of its own, HTTP/0.9 no headers; a version that is only claimed is a way to smuggle.
function versionProblem (message: IncomingMessage): string | null {
  const { httpVersion } = message
  if (httpVersion === '1.1' || /^1\.[0-9]$/.test(httpVersion) || 'stream' in message) return null
  return `HTTP/${httpVersion} is not spoken on this connection: HTTP/1.1 is.`
}

function codingProblem (coding: string | undefined, { httpVersion }: IncomingMessage): string | null {
  if (coding === undefined) return null
  const why = httpVersion === '1.0' ? 'an HTTP/1.0 message has none' : coding.toLowerCase() === 'chunked' ? null : 'only "chunked" is understood'
  return why === null ? null : `Invalid Transfer-Encoding "${headerText(coding)}": ${why} (RFC 9112, section 6.1).`
}

// Where nobody listens for upgrades, Node.js drops what came behind such a request in the same packet, be it half a message.
function asksForUpgrade ({ headers: { upgrade, connection } }: IncomingMessage): boolean {
  return upgrade !== undefined && connection !== undefined && /(?:^|,)\s*upgrade\s*(?:,|$)/i.test(connection)
}
