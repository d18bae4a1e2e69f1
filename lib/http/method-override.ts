import { METHODS, type IncomingMessage } from 'node:http'
import { headerText } from './header-text.js'
import { badRequest } from './http-errors.js'
import { isOwnOrigin, type Origin } from './request-origin.js'

/** On a raw message: a method that overrides the real one and that Node.js does not support. */
export const kUnknownMethod = Symbol('hindsight.unknownMethod')

declare module 'node:http' {
  interface IncomingMessage {
    [kUnknownMethod]?: string
  }
}

/** The method of a request: where it is overridden by one that Node.js does not support, that one. */
export function methodOf ({ raw, method }: { raw: IncomingMessage, method: string }): string {
  return raw[kUnknownMethod] ?? method
}

/**
 * Gives a POST the method of its header `X-HTTP-Method-Override` or its query parameter `_method`; returns why it is
 * refused, or null. A form of another site can send a POST, but not the other methods: it must not get them by this.
 */
export function overrideMethod (message: IncomingMessage, originOf: () => Origin): Error | null {
  const query = message.url?.indexOf('?') ?? -1
  const wanted = message.headers['x-http-method-override'] ??
    (query === -1 ? undefined : new URLSearchParams(message.url?.slice(query)).get('_method'))
  if (message.method !== 'POST' || typeof wanted !== 'string' || wanted === '') return null
  const crossSite = crossSiteProblem(message, originOf)
  if (crossSite !== null) return badRequest(`Cross-site method override: ${crossSite}`)
  const method = wanted.toUpperCase()
  if (!/^[A-Z]+$/.test(method)) return badRequest('Invalid HTTP method override.')
  if (method === 'HEAD') {
    // A client of POST reads `Content-Length` bytes. HEAD sends none: the next response would be taken for them.
    return badRequest('Invalid HTTP method override: a POST is answered with a body, HEAD without one.')
  }
  if (METHODS.includes(method) && method !== 'CONNECT') message.method = method
  else message[kUnknownMethod] = method
  return null
}

// Browsers do not let a page choose either header (Fetch, section 2.2.2; Fetch Metadata, section 2.4); other clients
// send neither.
function crossSiteProblem (message: IncomingMessage, originOf: () => Origin): string | null {
  const { origin, 'sec-fetch-site': site } = message.headers
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    const sent = headerText(String(site))
    return `Sec-Fetch-Site is "${sent}". Send it from a page of the same origin, or send the method itself.`
  }
  if (origin === undefined) return null
  const own = originOf()
  if (isOwnOrigin(origin, own)) return null
  return `the Origin "${headerText(origin)}" is not that of the request, "${own.scheme}://${own.authority}". ` +
    'Send it from a page of the same origin, or send the method itself; behind a proxy, set trustedProxies (TRUSTED_PROXIES).'
}
