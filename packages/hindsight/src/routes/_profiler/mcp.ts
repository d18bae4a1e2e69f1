import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { MethodNotAllowedError } from '../../http/http-errors.js'
import { isSameOrigin } from '../../http/origin.js'
import type { ToolSource } from '../../reading/mcp/tools.js'
import { visibleJson } from '../../view/text.js'
import { routesInOrder } from '../../reading/hook-order.js'
import { replayProfile } from './replay.js'
import { BadFieldError, profileOf, routeOptions, sourceOf, type Fields } from './responses.js'

const FOREIGN_ORIGIN =
  'The origin of the request is not that of the profiler: models connect from a program, not from a page.'
/** The code of JSON-RPC for a request that is not valid. */
const INVALID_REQUEST = -32600
const JSON_TYPE = 'application/json; charset=utf-8'
const OTHER_METHODS = ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** The Model Context Protocol (Streamable HTTP), without sessions and streams: each message is answered by itself. */
export default async function mcpRoutes (app: FastifyInstance): Promise<void> {
  app.addHook('onRequest', async function refuseOtherOrigins (request, reply) {
    const { origin } = request.headers
    if (origin === undefined || isSameOrigin(origin, app.hindsight.originOf(request))) return
    const error = { code: INVALID_REQUEST, message: FOREIGN_ORIGIN }
    return reply.code(403).type(JSON_TYPE).send(visibleJson({ jsonrpc: '2.0', error }))
  })
  const closing = new AbortController()
  // A tool may wait for a request, which must not delay the end of the application.
  app.addHook('preClose', async function endWaits () { closing.abort() })
  const sendAnswer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const cancelled = new AbortController()
    reply.raw.once('close', () => { cancelled.abort() })
    return await sendAnswerUntil(AbortSignal.any([closing.signal, cancelled.signal]), request, reply)
  }
  // An error of its text has a code of the protocol.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, async (_: FastifyRequest, text: string) => text)
  for (const [name, method, handler] of [
    ['_profiler_mcp', ['POST'], sendAnswer], ['_profiler_mcp_other', OTHER_METHODS, refuseMethod]
  ] as const) {
    const options = routeOptions(app, name)
    const config = { ...options.config, checksOrigin: true }
    app.route({ ...options, config, method: [...method], url: '/mcp', handler })
  }
}

async function sendAnswerUntil (
  signal: AbortSignal, request: FastifyRequest, reply: FastifyReply
): Promise<FastifyReply> {
  const { answerMessage } = await import('../../reading/mcp/protocol.js')
  const text = typeof request.body === 'string' ? request.body : ''
  const { status, response } = await answerMessage(text, request.headers, toolSource(request), signal)
  // The server has closed its idle connections before: this one must not stay open for the time of keep-alive.
  if (signal.aborted && request.raw.httpVersionMajor === 1) reply.header('connection', 'close')
  reply.code(status)
  if (response === undefined) return reply.send()
  return reply.type(JSON_TYPE).send(visibleJson(response))
}

async function refuseMethod (request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const error = new MethodNotAllowedError(`"${request.method}" is not allowed here: messages are sent by POST.`)
  error.headers = { allow: 'POST' }
  reply.headers(error.headers)
  throw error
}

/** What the tools read of the application. The user permits replays by the query of the address: `?replay=1`. */
function toolSource (request: FastifyRequest): ToolSource {
  const { debug, recorder, parts, routeTable } = request.server.hindsight
  const profiles = sourceOf(request)
  const source: ToolSource = {
    parts,
    profiles: { ...profiles, get: (token) => recorder?.unfinished(token) ?? profiles.get(token) },
    replay: undefined,
    routes (wanted) {
      if (!debug) throw new Error('Routes are listed in debug mode only.')
      return routesInOrder(routeTable, wanted)
    }
  }
  if (debug && (request.query as Fields).replay === '1') {
    source.replay = async (wanted, values, isConfirmed) =>
      await replayProfile(request, await profileOf(request, wanted), values, isConfirmed).catch(throwMarked)
  }
  return source
}

/** An error about a field names what is masked: the client of the request chose these names. */
function throwMarked (error: unknown): never {
  if (error instanceof BadFieldError) throw new Error(`(from: request) ${error.message}`)
  throw error
}
