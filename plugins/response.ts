import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { addVary, isRedirect, routeConfigOf } from 'fastify-hindsight/recorder'
import { stateOf } from '../lib/state.js'
import { defineListener } from '../lib/listener.js'

const PRIVATE = 'no-cache, private'
const NEEDS_CHARSET = /^text\/|^application\/(?:javascript|xhtml\+xml)\b/i
const WITHOUT_CONTENT = [204, 205, 304]
const CONTENT_HEADERS = ['content-type', 'content-length', 'content-encoding', 'transfer-encoding']

/** Makes the message conform (RFC 9110): charset, content and length by status, language, default `Cache-Control`. */
export const response = defineListener('kernel.response', 'response', (_app, options) => {
  const { charset = false, enabledLocales = [] } = options
  return (request, reply, payload) => {
    const { statusCode } = reply
    if (!reply.hasHeader('cache-control') && !(statusCode === 301 && isRedirect(reply))) {
      stateOf(request).defaultCacheControl = true
      reply.header('cache-control', PRIVATE)
    }
    setLanguage(request, reply, enabledLocales.length > 0)
    if (WITHOUT_CONTENT.includes(statusCode) || statusCode < 200) {
      const nothing = dropContent(reply, payload)
      return statusCode === 205 ? '' : nothing
    }
    if (reply.hasHeader('transfer-encoding')) reply.removeHeader('content-length')
    const type = reply.getHeader('content-type')
    if (charset && typeof type === 'string' && NEEDS_CHARSET.test(type) && !/;\s*charset=/i.test(type)) {
      reply.header('content-type', `${type}; charset=utf-8`)
    }
  }
})

// RFC 9110, section 8.5: the language of the audience; not on error pages, redirects and the debug surface.
function setLanguage (request: FastifyRequest, reply: FastifyReply, hasLocales: boolean): void {
  const { failed, languageRead, localeSource, route } = stateOf(request)
  const locale = request.locale as string | undefined
  if (languageRead === true) addVary(reply, 'Accept-Language')
  if (!locale || (!hasLocales && localeSource === undefined)) return
  const isDocument = !failed && route !== null && routeConfigOf(request)?.debugOnly !== true && !isRedirect(reply) &&
    !WITHOUT_CONTENT.includes(reply.statusCode)
  if (isDocument && !reply.hasHeader('content-language')) reply.header('content-language', locale)
}

/** Removes the content of a response whose status has none (RFC 9110, section 6.4.1); returns the new payload. */
function dropContent (reply: FastifyReply, payload: unknown): Readable | null | undefined {
  for (const name of CONTENT_HEADERS) reply.removeHeader(name)
  discard(payload)
  // Fastify's own HEAD routes fail at null, and count the length of everything but a stream.
  if (reply.request.method === 'HEAD') return Readable.from([])
  // Hooks of the application receive the same kind of empty payload as without Hindsight.
  return payload === undefined ? undefined : null
}

/** Ends a stream that will not be read. */
function discard (payload: unknown): void {
  const stream = payload as { destroy?: unknown, cancel?: unknown } | null | undefined
  if (typeof stream?.destroy === 'function') stream.destroy()
  // A web stream that already has a reader rejects; its reader will end it.
  else if (typeof stream?.cancel === 'function') Promise.resolve(stream.cancel()).catch(() => {})
}
