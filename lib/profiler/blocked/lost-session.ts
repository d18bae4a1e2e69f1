import type { Refusal } from '../../errors/report.js'
import type { SecurityRecord } from '../../security/context.js'
import type { SessionCookie } from '../../session/sessions.js'

/** What is known of a request whose session may have been lost on the way. */
export interface SessionFacts {
  cookie: SessionCookie | null
  /** Whether the request brought it. */
  sent: boolean
  /** Whether somebody looked at the session. */
  used: boolean
  security: SecurityRecord | null
  method: string
  path: string
  scheme: string
  site: string | undefined
  mode: string | undefined
}

/** Why a session that the request needed did not come with it; null where it did, or was not needed, or browsers would have sent it. */
export function lostSession ({ cookie, sent, used, security, method, path, scheme, site, mode }: SessionFacts): Refusal | null {
  if (cookie === null || sent || !(used || needsLogin(security))) return null
  const refusal = (rule: string, why: string, attribute: string): Refusal => {
    const option = `session.cookie.${attribute}`
    return { kind: 'cookie', sentence: `The session's cookie "${cookie.name}" did not come with the request: ${why}; the option ${option} decides.`, rule, option }
  }
  if (cookie.path !== undefined && !matches(path, cookie.path)) {
    return refusal('Path', `browsers send it to paths from ${cookie.path} on only`, 'path')
  }
  if (cookie.secure === true && scheme !== 'https') return refusal('Secure', 'it is Secure, and the request came by http', 'secure')
  if (site !== 'cross-site') return null
  const sameSite = cookie.sameSite === true ? 'strict' : String(cookie.sameSite === false || cookie.sameSite === undefined ? 'lax' : cookie.sameSite).toLowerCase()
  if (sameSite === 'none') return null
  const isTopLevel = mode === 'navigate' && (method === 'GET' || method === 'HEAD')
  if (sameSite === 'lax' && isTopLevel) return null
  return refusal(`SameSite=${sameSite}`, `the request is cross-site (Sec-Fetch-Site), and browsers send a cookie with SameSite=${sameSite === 'strict' ? 'Strict' : 'Lax'} ${sameSite === 'strict' ? 'within its own site only' : 'from other sites with links only'}`, 'sameSite')
}

function needsLogin (security: SecurityRecord | null): boolean {
  if (security === null || security.user !== null || !security.authenticators.some(({ name }) => name === 'session')) return false
  return security.rule?.granted === false || security.expression?.result === false || security.decisions.some(({ granted }) => !granted)
}

// RFC 6265bis, section 5.1.4.
function matches (path: string, cookiePath: string): boolean {
  return path === cookiePath || (path.startsWith(cookiePath) && (cookiePath.endsWith('/') || path[cookiePath.length] === '/'))
}
