import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyServerOptions } from 'fastify'
import { connectionOf, messageState, pathOf } from './requests.js'
import {
  HeaderOverflowError, MalformedMessageError, RequestTimeoutError, SuspiciousOperationError
} from './http-errors.js'
import { MAX_PACKET, refuseMessage, trackResponses, type RefusedRequest } from './refused-message.js'

/** An error of the HTTP parser of Node.js. */
interface ParserError extends Error {
  code?: string
  reason?: string
  rawPacket?: Buffer
  bytesParsed?: number
}

const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT'
const REQUEST_LINE = /^([A-Za-z-]{1,32}) (\S+)(?= HTTP\/|\r?\n|$)/

/**
 * The server options that answer messages which the parser of Node.js refuses: with status 400, 408 or 431, the
 * message of the parser, and a profile in debug mode. Fastify is created with them.
 */
export function messageOptions (): FastifyServerOptions {
  trackResponses()
  return {
    clientErrorHandler (error, socket) {
      answerMalformed(this as unknown as FastifyInstance, error as unknown as ParserError, socket)
    }
  } as FastifyServerOptions
}

function answerMalformed (app: FastifyInstance, error: ParserError, socket: Socket): void {
  const newest = connectionOf(socket).responses.at(-1)
  // The request whose body was refused.
  const current = newest === undefined || newest.req.complete ? null : newest
  // A client that leaves before the end of a body: the profile of its request records that.
  const hasLeft = error.code === 'HPE_INVALID_EOF_STATE' && current !== null
  const isRefusal = error.code === TIMEOUT || (error.code?.startsWith('HPE_') === true && !hasLeft)
  if (isRefusal && connectionOf(socket).isRefused) return
  // Browsers open connections in advance: one that has sent nothing is closed without an answer.
  if (!isRefusal || !socket.writable || socket.bytesRead === 0) {
    socket.destroy()
    return
  }
  const packet = refusedPart(error, socket)
  if (current === null) return refuseMessage(app, socket, httpErrorOf(error), null, parsedRequest(packet))
  const { method = '-', url = '/', headers: { host } } = current.req
  const { target = url } = messageState(current.req)
  refuseMessage(app, socket, httpErrorOf(error), current, { method, target: pathOf(target), host, packet })
}

function parsedRequest (packet: string): RefusedRequest {
  const [, method = '-', target = '/'] = REQUEST_LINE.exec(packet) ?? []
  const [section = ''] = packet.split(/\r?\n\r?\n/, 1)
  // The first line is no header; it may be the rest of one of an earlier packet.
  const host = /\nhost:[ \t]*([^\r\n]*)/i.exec(section)?.[1]?.trimEnd()
  return { method, target: pathOf(target), host, packet }
}

/** The refused message within the last packet, as Latin-1 text. */
function refusedPart ({ rawPacket, bytesParsed = 0 }: ParserError, socket: Socket): string {
  const packet = rawPacket?.toString('latin1') ?? ''
  const before = Math.max(0, bytesParsed - 1)
  // A packet may contain other messages before the refused one.
  const end = packet.lastIndexOf('\r\n\r\n', before)
  let start = end === -1 || end + 4 > bytesParsed ? 0 : end + 4
  if (start === 0 && socket.bytesRead !== packet.length && !REQUEST_LINE.test(packet)) {
    // The first line may be the rest of a secret of an earlier packet, which has no name here by which to mask it.
    start = packet.lastIndexOf('\n', before) + 1 || packet.indexOf('\n', bytesParsed) + 1 || packet.length
  }
  return packet.slice(start, start + MAX_PACKET)
}

function httpErrorOf ({ code, message, reason = message.replace(/^Parse Error: /, '') }: ParserError): FastifyError {
  const cause = new SuspiciousOperationError(message)
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new HeaderOverflowError(`The header section is too large: ${reason}`, { cause })
  }
  if (code === TIMEOUT) return new RequestTimeoutError('The request did not arrive in time.', { cause })
  return new MalformedMessageError(`Malformed HTTP message: ${reason}`, { cause })
}
