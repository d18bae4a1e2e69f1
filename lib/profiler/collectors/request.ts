import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { targetOf } from '../../http/request-target.js'
import { attributesOf } from '../../lifecycle/request-state.js'
import { stateOf } from '../../lifecycle/request-state.js'
import { shownHeaders } from './headers.js'
import { responseRecord } from './response.js'
import { binaryText, snapshot } from './snapshot.js'
import { uploadsIn } from './uploads.js'

/** Makes the function that records what came in: method, URL, headers, query, cookies, body, files, attributes, and whether the session was used. */
export function requestCollector ({ hindsight }: FastifyInstance): (request: FastifyRequest) => void {
  return (request) => {
    const state = stateOf(request)
    // Whatever a handler may change is copied; the attributes hold the route, which is dropped before the profile is built.
    const { params, method, raw: { httpVersion } } = request
    const target = targetOf(request)
    const attributes = { ...attributesOf(request) }
    const headers = { ...request.headers }
    const query = { ...request.query as object }
    const cookies = Object.keys(hindsight.cookiesOf(request))
    const uploads = uploadsIn(request)
    const body = snapshot(request.body ?? null, {
      type: headers['content-type'],
      bytes: Number(headers['content-length']) || undefined,
      ...(uploads !== null && { replace: uploads.replace })
    })
    const unparsed = request.body === undefined || request.body === null ? whyUnparsed(state.raised) : null
    state.collect('request', () => {
      const mask = hindsight.mask.hiding(state.sentParams ?? params)
      return {
        method,
        target: mask.url(target),
        httpVersion,
        headers: shownHeaders(headers, mask),
        query: mask.value(query),
        cookies: Object.fromEntries(cookies.map((name) => [mask.text(name), '******'])),
        // Parts that the handler reads by itself are no body for Fastify.
        body: mask.value(body.value ?? (uploads === null || uploads.fields().length === 0 ? null : uploads.fields())),
        ...(unparsed !== null && { bodyNote: mask.text(unparsed) }),
        ...(body.cut > 0 && { bodyCut: body.cut }),
        ...(uploads !== null && { files: mask.value(uploads.files()) }),
        attributes: mask.value(attributes),
        session: { used: state.sessionTouched === true }
      }
    })
  }
}

// Errors of Fastify's parsers have codes of their own; they do not contain the body.
function whyUnparsed (raised: unknown): string | null {
  const { code, message } = (raised ?? {}) as { code?: unknown, message?: unknown }
  return typeof code === 'string' && code.startsWith('FST_ERR_CTP_') ? `not parsed: ${String(message)}` : null
}

/** Makes the function that records what goes out: status, headers, content type and size, and the kind of a body that is no text. */
export function responseCollector ({ hindsight }: FastifyInstance): (request: FastifyRequest, reply: FastifyReply, payload: unknown) => void {
  return (request, reply, payload) => {
    const state = stateOf(request)
    const { params } = request
    const size = typeof payload === 'string' ? Buffer.byteLength(payload) : Buffer.isBuffer(payload) ? payload.length : null
    const stream = size === null ? binaryText(payload) : null
    const isBuffer = Buffer.isBuffer(payload)
    state.collect('response', () => {
      const mask = hindsight.mask.hiding(state.sentParams ?? params)
      const headers = state.sentHeaders ?? reply.getHeaders() as Record<string, unknown>
      const type = headers['content-type'] ?? null
      const body = stream ?? (isBuffer && !/^text\/|json|xml|javascript/i.test(String(type)) ? `[binary, ${size} bytes, ${String(type ?? 'no type')}]` : null)
      // A later listener may still answer 304.
      const record = { status: reply.statusCode, headers, size: reply.statusCode === 304 ? null : size, ...(body !== null && { body }) }
      return responseRecord(record, mask)
    })
  }
}
