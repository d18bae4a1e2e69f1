import { isRedirect } from '../kernel/responses.js'
import { listener } from '../kernel/listener.js'

/**
 * Makes the message conform (RFC 9110, sections 6.4 and 8): a charset on text, no content for 204, 205 and 304,
 * no length beside a transfer coding; and a `Cache-Control` that keeps shared caches out where nothing else was said.
 */
export const response = listener('kernel.response', 'response', () => (_request, reply, payload) => {
  const { statusCode } = reply
  if (!reply.hasHeader('cache-control') && !(statusCode === 301 && isRedirect(reply))) {
    reply.header('cache-control', 'no-cache, private')
  }
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

const NEEDS_CHARSET = /^text\/|^application\/(?:javascript|xhtml\+xml)\b/i
const CONTENT_HEADERS = ['content-type', 'content-length', 'content-encoding', 'content-language', 'content-range', 'transfer-encoding']
// RFC 9110, section 15.4.5: what describes the selected representation stays out, its validators stay.
const CONTENT_HEADERS_OF_304 = ['content-type', 'content-length', 'content-encoding', 'transfer-encoding']
