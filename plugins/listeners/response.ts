import type { FastifyReply, FastifyRequest } from 'fastify'
import vary from 'vary'
import { isRedirect } from '../kernel/responses.js'
import { listener } from '../kernel/listener.js'
import { stateOf } from '../kernel/request-state.js'

/**
 * Makes the message conform (RFC 9110, sections 6.4 and 8): a charset on text, no content for 204, 205 and 304,
 * no length beside a transfer coding; the language that was chosen for it; and a `Cache-Control` that keeps shared
 * caches out where nothing else was said.
 */
export const response = listener('kernel.response', 'response', (_app, { enabledLocales = [] }: { enabledLocales?: string[] }) => (request, reply, payload) => {
  const { statusCode } = reply
  if (!reply.hasHeader('cache-control') && !(statusCode === 301 && isRedirect(reply))) {
    reply.header('cache-control', 'no-cache, private')
  }
  tellLanguage(request, reply, enabledLocales.length > 0)
  if (statusCode === 204 || statusCode === 205 || statusCode === 304 || statusCode < 200) {
    for (const name of statusCode === 304 ? CONTENT_HEADERS_OF_304 : CONTENT_HEADERS) reply.removeHeader(name)
    if (typeof (payload as { destroy?: unknown } | null)?.destroy === 'function') (payload as { destroy: () => void }).destroy()
    return statusCode === 205 ? '' : null
  }
  if (reply.hasHeader('transfer-encoding')) reply.removeHeader('content-length')
  const type = reply.getHeader('content-type')
  if (typeof type === 'string' && NEEDS_CHARSET.test(type) && !/;\s*charset=/i.test(type)) {
    reply.header('content-type', `${type}; charset=utf-8`)
  }
  if (typeof payload === 'string' && !reply.hasHeader('content-length') && !reply.hasHeader('transfer-encoding')) {
    reply.header('content-length', Buffer.byteLength(payload))
  }
})

// RFC 9110, section 8.5: whom the content is meant for. An error page, a redirect and the debug surface speak for themselves.
function tellLanguage (request: FastifyRequest, reply: FastifyReply, hasLocales: boolean): void {
  const { localeSource, languageRead, failed } = stateOf(request)
  if (languageRead) reply.header('vary', vary.append(String(reply.getHeader('vary') ?? ''), 'Accept-Language'))
  if (!hasLocales && localeSource === 'default') return
  if (failed || request.route === null || request.routeOptions.config?.debugOnly === true || isRedirect(reply) || reply.statusCode === 304) return
  if (!reply.hasHeader('content-language')) reply.header('content-language', request.locale)
}

const NEEDS_CHARSET = /^text\/|^application\/(?:javascript|xhtml\+xml)\b/i
const CONTENT_HEADERS = ['content-type', 'content-length', 'content-encoding', 'content-language', 'content-range', 'transfer-encoding']
// RFC 9110, section 15.4.5: what describes the selected representation stays out, its validators stay.
const CONTENT_HEADERS_OF_304 = ['content-type', 'content-length', 'content-encoding', 'transfer-encoding']
