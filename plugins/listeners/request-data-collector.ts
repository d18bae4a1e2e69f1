import type { FastifyRequest } from 'fastify'
import { targetOf } from '../kernel/origin.js'
import { kRawPacket } from '../kernel/malformed.js'
import { listener, OnFailure, Skip } from '../kernel/listener.js'
import { attributesOf } from '../kernel/request-attributes.js'
import { ownHook } from '../kernel/own-hooks.js'
import { stateOf } from '../kernel/request-state.js'

const notObserved = new Skip('the request leaves no profile')

/** Records what came in: method, URL, headers, query, cookies, body, files, attributes, and whether the session was used. */
export const requestDataCollector = listener('kernel.controller', 'request-data-collector', async (app) => {
  if (!app.hindsight.observed) return 'not in debug mode'
  const { headersNow } = await import('../profiler/collectors/request-headers.js')
  const { RecentRecords } = await import('../profiler/collectors/recent-records.js')
  const recent = new RecentRecords()
  const { snapshot } = await import('../profiler/collectors/snapshot.js')
  const { uploadsIn, watchUploads } = await import('../profiler/collectors/uploads.js')
  if (app.hindsight.fromBeginning) {
    app.addHook('preValidation', ownHook(function watchParts (request, _reply, done) {
      if (stateOf(request).observed) watchUploads(request)
      done()
    }))
  }
  return new OnFailure((request: FastifyRequest) => {
    const state = stateOf(request)
    if (!state.observed) return notObserved
    // The attributes name the route, which is dropped before this is read; whatever else a handler may change is copied.
    const { params } = request
    const attributes = attributesOf(request)
    const headers = headersNow(request)
    const { 'content-type': type, 'content-length': length } = request.headers
    const query = { ...request.query as object }
    const cookies = Object.keys(request.server.hindsight.cookiesOf(request))
    const uploads = uploadsIn(request)
    const body = snapshot(request.body ?? null, {
      type,
      bytes: Number(length) || undefined,
      ...(uploads !== null && { replace: uploads.replace })
    })
    const unparsed = request.body === undefined || request.body === null ? whyUnparsed(state.raised) : null
    const isBare = body.value === null && unparsed === null && uploads === null && cookies.length === 0 && Object.keys(query).length === 0 && request.raw[kRawPacket] === undefined
    state.collect('request', () => {
      const mask = app.hindsight.mask.hiding(state.sentParams ?? params)
      const { method, raw: { httpVersion } } = request
      const target = targetOf(request)
      const shown = headers(mask)
      // Of those that bring nothing else, many are the same; what one request hides is forgotten with it.
      const names = Object.keys(attributes ?? {})
      const isLikely = isBare && mask === app.hindsight.mask && names.every((name) => name === '_route')
      return recent.of(isLikely ? [shown, method, target, httpVersion, attributes?._route, state.sessionTouched] : null, () => ({
        method,
        target: mask.url(target),
        httpVersion,
        headers: shown,
        query: mask.value(query),
        cookies: Object.fromEntries(cookies.map((name) => [mask.text(name), '******'])),
        // Parts that the handler reads by itself are no body for Fastify.
        body: mask.value(body.value ?? (uploads === null || uploads.fields().length === 0 ? null : uploads.fields())),
        ...(unparsed !== null && { bodyNote: mask.text(unparsed) }),
        ...(body.cut > 0 && { bodyCut: body.cut }),
        ...(uploads !== null && { files: mask.value(uploads.files()) }),
        attributes: mask.value(attributes ?? {}),
        session: { used: state.sessionTouched },
        ...(request.raw[kRawPacket] !== undefined && { rawMessage: mask.message(request.raw[kRawPacket]) })
      }))
    })
  })
})

// Fastify's parsers raise errors with codes of their own; they do not tell what came.
function whyUnparsed (raised: unknown): string | null {
  const { code, message } = (raised ?? {}) as { code?: unknown, message?: unknown }
  return typeof code === 'string' && code.startsWith('FST_ERR_CTP_') ? `not parsed: ${String(message)}` : null
}

/** Records what goes out: status, headers, content type and size, and what the body is where it is no text. */
export const requestDataCollectorResponse = listener('kernel.response', 'request-data-collector', async (app) => {
  if (!app.hindsight.observed) return 'not in debug mode'
  const { responseRecord } = await import('../profiler/collectors/response.js')
  const { binaryText } = await import('../profiler/collectors/snapshot.js')
  return (request, reply, payload) => {
    const state = stateOf(request)
    if (!state.observed) return notObserved
    const { params } = request
    const size = typeof payload === 'string' ? Buffer.byteLength(payload) : Buffer.isBuffer(payload) ? payload.length : null
    const stream = size === null ? binaryText(payload) : null
    const isBuffer = Buffer.isBuffer(payload)
    state.collect('response', () => {
      const mask = app.hindsight.mask.hiding(state.sentParams ?? params)
      const headers = state.sentHeaders ?? reply.getHeaders() as Record<string, unknown>
      const type = headers['content-type'] ?? null
      const body = stream ?? (isBuffer && !/^text\/|json|xml|javascript/i.test(String(type)) ? `[binary, ${size} bytes, ${String(type ?? 'no type')}]` : null)
      // The http-cache listener may still find that the client has the content already.
      const record = { status: reply.statusCode, headers, size: reply.statusCode === 304 ? null : size, ...(body !== null && { body }) }
      return responseRecord(record, mask)
    })
  }
})
