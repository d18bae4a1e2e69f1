import type { FastifyReply, FastifyRequest } from 'fastify'
import { addVary, dropContent, isRedirect } from '../lib/http/responses.js'
import { listener } from '../lib/lifecycle/listener.js'
import { routeConfigOf, stateOf } from '../lib/lifecycle/request-state.js'

export interface ResponseOptions {
  /** Whether text types without a charset are completed by UTF-8. */
  charset?: boolean
}

declare module '../lib/lifecycle/request-state.js' {
  interface RequestState {
    /** Whether `Cache-Control` has the default for responses without one. */
    defaultCacheControl?: boolean
  }
}

const PRIVATE = 'no-cache, private'
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/
const NEEDS_CHARSET = /^text\/|^application\/(?:javascript|xhtml\+xml)\b/i

/**
 * Makes the message conform (RFC 9110, sections 6.4 and 8): a charset on text if that is configured, no content for
 * 204, 205 and 304, no length with a transfer coding, `Content-Language`, and a private `Cache-Control` where there is
 * none.
 */
export const response = listener('kernel.response', 'response', (
  _app, { charset = false, enabledLocales = [] }: ResponseOptions & { enabledLocales?: string[] }
) => {
  return (request, reply, payload) => {
    const { statusCode } = reply
    if (!reply.hasHeader('cache-control') && !(statusCode === 301 && isRedirect(reply))) {
      stateOf(request).defaultCacheControl = true
      reply.header('cache-control', PRIVATE)
    }
    setLanguage(request, reply, enabledLocales.length > 0)
    // The client's own identifier of the request.
    const { 'x-request-id': id } = request.headers
    if (typeof id === 'string' && REQUEST_ID.test(id) && !reply.hasHeader('x-request-id')) {
      reply.header('x-request-id', id)
    }
    if (statusCode === 204 || statusCode === 205 || statusCode === 304 || statusCode < 200) {
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
    reply.statusCode !== 304
  if (isDocument && !reply.hasHeader('content-language')) reply.header('content-language', locale)
}
