import type { FastifyReply, FastifyRequest } from 'fastify'
import { addVary, dropContent, isRedirect } from '../lib/http/responses.js'
import { listener } from '../lib/lifecycle/listener.js'
import { routeConfigOf, stateOf } from '../lib/lifecycle/request-state.js'

declare module '../lib/lifecycle/request-state.js' {
  interface RequestState {
    /** Whether `Cache-Control` has the default for responses without one. */
    defaultCacheControl?: boolean
  }
}

const PRIVATE = 'no-cache, private'
const NEEDS_CHARSET = /^text\/|^application\/(?:javascript|xhtml\+xml)\b/i
const WITHOUT_CONTENT = [204, 205, 304]

/** Makes the message conform (RFC 9110): charset, content and length by status, language, default `Cache-Control`. */
export const response = listener('kernel.response', 'response', (_app, { charset = false, enabledLocales = [] }) => {
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
