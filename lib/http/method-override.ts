import { METHODS, type IncomingMessage } from 'node:http'
import { headerText } from './header-text.js'
import { badRequest } from './http-errors.js'
import { isOwnOrigin, type Origin } from './origin.js'

const ADVICE = 'Send it from a page of the same origin, or send the method itself'

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
  // The client of a POST reads `Content-Length` octets, which a response to HEAD does not have: it would read them from
  // the next response.
  const isValid = METHODS.includes(method) && method !== 'CONNECT' && method !== 'HEAD'
  if (!isValid) return badRequest('Invalid HTTP method override.')
  message.method = method
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
