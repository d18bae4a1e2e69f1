import type { FastifyReply, FastifyRequest } from 'fastify'
import vary from 'vary'
import { dropContent, hasTrailers, isRedirect } from '../kernel/responses.js'
import { listener } from '../kernel/listener.js'
import { stateOf } from '../kernel/request-state.js'
import { routeConfigOf } from '../kernel/route-config.js'

/**
 * Makes the message conform (RFC 9110, sections 6.4 and 8): a charset on text, no content for 204, 205 and 304,
 * no length beside a transfer coding; the language that was chosen for it; and a `Cache-Control` that keeps shared
 * caches out where nothing else was said.
 */
export const response = listener('kernel.response', 'response', (_app, { enabledLocales = [] }: { enabledLocales?: string[] }) => {
  const hasLocales = enabledLocales.length > 0
  return (request, reply, payload) => {
    const { statusCode } = reply
    const state = stateOf(request)
    if (!reply.hasHeader('cache-control') && !(statusCode === 301 && isRedirect(reply))) {
      reply.header('cache-control', 'no-cache, private')
      state.defaultCacheControl = true
    }
    if (hasLocales || state.languageRead || state.localeSource !== 'default') tellLanguage(request, reply, hasLocales)
    const { 'x-request-id': id } = request.headers
    if (id !== undefined) echoRequestId(id, reply)
    if (statusCode === 204 || statusCode === 205 || statusCode === 304 || statusCode < 200) {
      const nothing = dropContent(reply, payload)
      return statusCode === 205 ? '' : nothing
    }
    const transferred = reply.hasHeader('transfer-encoding')
    if (transferred) reply.removeHeader('content-length')
    const type = reply.getHeader('content-type')
    if (type !== JSON_TYPE && typeof type === 'string' && NEEDS_CHARSET.test(type) && !/;\s*charset=/i.test(type)) {
      reply.header('content-type', `${type}; charset=utf-8`)
    }
    if ((typeof payload === 'string' || (state.ownPolicy !== '' && Buffer.isBuffer(payload))) && !transferred && !reply.hasHeader('content-length') && !hasTrailers(reply)) {
      reply.header('content-length', String(Buffer.byteLength(payload)))
    }
  }
})

// What a client calls its request is told back as it came, unless the route says otherwise.
function echoRequestId (id: unknown, reply: FastifyReply): void {
  if (typeof id === 'string' && REQUEST_ID.test(id) && !reply.hasHeader('x-request-id')) reply.header('x-request-id', id)
}

// RFC 9110, section 8.5: whom the content is meant for. An error page, a redirect and the debug surface speak for themselves.
function tellLanguage (request: FastifyRequest, reply: FastifyReply, hasLocales: boolean): void {
  const { localeSource, languageRead, failed } = stateOf(request)
  if (languageRead) reply.header('vary', vary.append(String(reply.getHeader('vary') ?? ''), 'Accept-Language'))
  if (!hasLocales && localeSource === 'default') return
  if (failed || stateOf(request).route === null || routeConfigOf(request)?.debugOnly === true || isRedirect(reply) || reply.statusCode === 304) return
  const { locale } = stateOf(request)
  if (locale !== '' && !reply.hasHeader('content-language')) reply.header('content-language', locale)
}

/** What Fastify gives an object, as most responses have it. */
const JSON_TYPE = 'application/json; charset=utf-8'
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/
const NEEDS_CHARSET = /^text\/|^application\/(?:javascript|xhtml\+xml)\b/i
