import { listener } from '../kernel/listener.js'
import { targetOf } from '../kernel/origin.js'
import { kRawPacket } from '../kernel/malformed.js'
import { stateOf } from '../kernel/request-state.js'

const BODY_LIMIT = 64 * 1024

/** Records what came in: method, URL, headers, query, cookies, body, attributes and the session's metadata. */
export const requestDataCollector = listener('kernel.controller', 'request-data-collector', (app) => {
  if (!app.hindsight.debug) return 'not in debug mode'
  return (request) => {
    const state = stateOf(request)
    const mask = app.hindsight.mask.hiding(state.sentParams ?? request.params)
    // The attributes name the route, which is dropped before this is read.
    const { query, body, cookies, attributes } = request
    state.collect('request', () => ({
      method: request.method,
      target: mask.url(targetOf(request)),
      httpVersion: request.raw.httpVersion,
      headers: mask.headers(request.headers),
      query: mask.value(query ?? {}),
      cookies: mask.value(Object.fromEntries(Object.keys(cookies ?? {}).map((name) => [name, '******']))),
      body: bounded(mask.value(body ?? null)),
      attributes: mask.value(attributes ?? {}),
      session: { used: state.sessionTouched },
      ...(request.raw[kRawPacket] !== undefined && { rawMessage: mask.message(request.raw[kRawPacket]) })
    }))
  }
})

/** Records what goes out: status, headers, content type and size. */
export const requestDataCollectorResponse = listener('kernel.response', 'request-data-collector', (app) => {
  if (!app.hindsight.debug) return 'not in debug mode'
  return (request, reply, payload) => {
    const state = stateOf(request)
    const mask = app.hindsight.mask.hiding(state.sentParams ?? request.params)
    const size = typeof payload === 'string' ? Buffer.byteLength(payload) : Buffer.isBuffer(payload) ? payload.length : null
    state.collect('response', () => ({
      status: reply.statusCode,
      // What other hooks did behind this one is part of the answer.
      headers: mask.headers(reply.getHeaders() as Record<string, unknown>),
      contentType: reply.getHeader('content-type') ?? null,
      // The http-cache listener may still find that the client has the content already.
      size: reply.statusCode === 304 ? null : size
    }))
  }
})

function bounded (body: unknown): unknown {
  const text = JSON.stringify(body) ?? ''
  return text.length <= BODY_LIMIT ? body : `${text.slice(0, BODY_LIMIT)} … (${text.length - BODY_LIMIT} characters more)`
}
