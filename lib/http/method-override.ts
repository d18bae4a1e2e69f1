import { METHODS, type IncomingMessage } from 'node:http'
import { headerText } from './header-text.js'
import { badRequest } from './http-errors.js'
import type { Origin } from './origin.js'
import { messageState, noteMessage } from './request-target.js'

const ADVICE = 'Send it from a page of the same origin, or send the method itself'

/** The method of a request, or the one that overrides it and that Node.js does not support. */
export function methodOf ({ raw, method }: { raw: IncomingMessage, method: string }): string {
  return messageState(raw).unknownMethod ?? method
}

/**
 * Gives a POST the method of its header `X-HTTP-Method-Override` or its query parameter `_method`. Returns why that is
 * refused, or null. Forms of other sites can send a POST, but no other unsafe method, and must not get one by this.
 */
export function overrideMethod (message: IncomingMessage, originOf: () => Origin): Error | null {
  const query = /\?.*/.exec(message.url ?? '')?.[0]
  const wanted = message.headers['x-http-method-override'] ?? new URLSearchParams(query).get('_method')
  if (message.method !== 'POST' || typeof wanted !== 'string' || wanted === '') return null
  const crossSite = crossSiteProblem(message, originOf)
  if (crossSite !== null) return badRequest(`Cross-site method override: ${crossSite}`)
  const method = wanted.toUpperCase()
  if (!/^[A-Z]+$/.test(method)) return badRequest('Invalid HTTP method override.')
  if (method === 'HEAD') {
    // The client of a POST reads `Content-Length` octets, which a response to HEAD does not have: it would read them
    // from the next response.
    return badRequest('Invalid HTTP method override: a POST is answered with a body, HEAD without one.')
  }
  if (METHODS.includes(method) && method !== 'CONNECT') message.method = method
  else noteMessage(message, { unknownMethod: method })
  return null
}

// Pages cannot choose either header (Fetch, section 2.2.2; Fetch Metadata, section 2.4); other clients send neither.
function crossSiteProblem (message: IncomingMessage, originOf: () => Origin): string | null {
  const { origin, 'sec-fetch-site': site } = message.headers
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    return `Sec-Fetch-Site is "${headerText(String(site))}". ${ADVICE}.`
  }
  if (origin === undefined) return null
  const own = originOf()
  if (isOwnOrigin(origin, own)) return null
  return `the Origin "${headerText(origin)}" is not that of the request, "${own.scheme}://${own.authority}". ` +
    `${ADVICE}; behind a proxy, set trustedProxies (TRUSTED_PROXIES).`
}

/** Whether the value of the header `Origin` is the origin of the request itself (RFC 6454, section 6.2). */
export function isOwnOrigin (origin: string, { scheme, authority }: Origin): boolean {
  return authority !== '' && origin === `${scheme}://${authority}`
}
