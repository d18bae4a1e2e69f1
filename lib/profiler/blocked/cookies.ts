import { isIP } from 'node:net'
import { parseSetCookie, type Cookie } from 'set-cookie-parser'
import type { Refusal } from '../../errors/report.js'
import type { SecurityRecord } from '../../security/context.js'
import type { SessionCookie } from '../../session/sessions.js'
import { cut, visibleLine } from '../../view/visible.js'

/** The facts of a request that decide whether a browser accepts or sends cookies. */
export interface CookieContext {
  scheme: string
  /** Without the port. */
  host: string
  /** `Sec-Fetch-Site` and `Sec-Fetch-Mode` of the request. */
  site: string | undefined
  mode: string | undefined
  /** The name of the session cookie; null without sessions. */
  sessionCookie: string | null
  /** The place that set a cookie, `file:line`; null: unknown. */
  setAt?: (name: string) => string | null
}

interface Fault {
  rule: string
  why: string
  /** The attribute that decides, as options call it. */
  attribute: string
}

const MAX_BYTES = 4_096
const MAX_COOKIES = 50
const HOST_RULE = 'the prefix __Host- needs Secure, Path=/ and no Domain'

/** The cookies of a response that browsers reject, and why (RFC 6265bis, section 5.7); without their values. */
export function droppedCookies (header: unknown, context: CookieContext): Refusal[] {
  const lines = [header].flat().filter((line) => typeof line === 'string').slice(0, MAX_COOKIES)
  return lines.flatMap((line) => {
    const [cookie] = parseSetCookie(line, { decodeValues: false, split: false, silent: true })
    const fault = cookie === undefined ? null : faultOf(cookie, context)
    if (cookie === undefined || fault === null) return []
    const isSession = cookie.name === context.sessionCookie
    const option = !isSession
      ? `${fault.attribute} of the cookie`
      : fault.attribute === 'name' ? 'session.cookieName' : `session.cookie.${fault.attribute}`
    const place = isSession ? null : context.setAt?.(cookie.name) ?? null
    const name = cut(visibleLine(cookie.name), 100)
    const where = place === null ? '' : `, which is set at ${place},`
    const sentence = `The browser drops the cookie "${name}": ${fault.why}; the option ${option}${where} decides.`
    return [{ kind: 'cookie', sentence, rule: fault.rule, option }]
  })
}

function faultOf (cookie: Cookie, context: CookieContext): Fault | null {
  const { name, value, secure = false, partitioned = false } = cookie
  const sameSite = cookie.sameSite?.toLowerCase()
  const bytes = Buffer.byteLength(name) + Buffer.byteLength(value)
  if (bytes > MAX_BYTES) {
    const why = `its name and value have ${bytes.toLocaleString('en')} bytes, and browsers take 4,096`
    return { rule: 'RFC 6265bis: name and value have at most 4,096 bytes', why, attribute: 'name' }
  }
  const prefixFault = prefixFaultOf(cookie)
  if (prefixFault !== null) return prefixFault
  if (secure && context.scheme !== 'https') {
    // Browsers differ for requests to the machine itself.
    const exception = isLoopback(context.host)
      ? ` (Safari does; Chromium and Firefox make an exception for ${context.host})`
      : ''
    return {
      rule: 'Secure needs https', why: `it is Secure, and the request came by http${exception}`, attribute: 'secure'
    }
  }
  if (sameSite === 'none' && !secure) {
    return { rule: 'SameSite=None needs Secure', why: 'it has SameSite=None without Secure', attribute: 'secure' }
  }
  if (partitioned && !secure) {
    return { rule: 'Partitioned needs Secure', why: 'it is Partitioned without Secure', attribute: 'secure' }
  }
  const domain = cookie.domain?.replace(/^\./, '').toLowerCase() ?? ''
  if (domain !== '' && !isAllowedDomain(context.host, domain)) {
    const why = `its Domain ${cut(visibleLine(domain), 100)} is neither the host ${context.host} nor a domain that ` +
      'browsers let it set cookies for'
    return { rule: 'Domain must be the host or a parent domain', why, attribute: 'domain' }
  }
  // A top-level navigation may set cookies of its site.
  const isEmbedded = context.site === 'cross-site' && context.mode !== undefined && context.mode !== 'navigate'
  if (isEmbedded && sameSite !== 'none') {
    const why = `the request was cross-site (Sec-Fetch-Site), and its SameSite is ${
      sameSite ?? 'not given, which means Lax'}`
    return { rule: 'cookies of cross-site requests need SameSite=None', why, attribute: 'sameSite' }
  }
  return null
}

function prefixFaultOf ({ name, secure = false, path, domain = '' }: Cookie): Fault | null {
  const prefix = /^__(?:secure|host)-/i.exec(name)?.[0].toLowerCase()
  if (prefix === undefined) return null
  if (prefix === '__secure-') {
    if (secure) return null
    const why = 'the prefix __Secure- of its name needs Secure'
    return { rule: 'the prefix __Secure- needs Secure', why, attribute: 'secure' }
  }
  const fault = (needs: string, attribute: string): Fault =>
    ({ rule: HOST_RULE, why: `the prefix __Host- of its name ${needs}`, attribute })
  if (!secure) return fault('needs Secure', 'secure')
  if (path !== '/') return fault('needs Path=/', 'path')
  return domain === '' ? null : fault('allows no Domain', 'domain')
}

function isLoopback (host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '')
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' ||
    (isIP(name) === 4 && name.startsWith('127.'))
}

// RFC 6265bis, section 5.1.3. Of the public suffixes only those of one label are recognized.
function isAllowedDomain (host: string, domain: string): boolean {
  if (host === domain) return true
  return isIP(host.replace(/^\[|\]$/g, '')) === 0 && domain.includes('.') && host.endsWith(`.${domain}`)
}

/** The facts of a request that may need a session. */
export interface SessionFacts {
  cookie: SessionCookie | null
  /** Whether the request has the session cookie. */
  sent: boolean
  /** Whether the request used the session. */
  used: boolean
  security: SecurityRecord | null
  method: string
  path: string
  scheme: string
  site: string | undefined
  mode: string | undefined
}

/** Why the browser did not send the session cookie although the request needed it; null if there is no reason. */
export function lostSession (facts: SessionFacts): Refusal | null {
  const { cookie, sent, used, security, method, path, scheme, site, mode } = facts
  if (cookie === null || sent || !(used || needsLogin(security))) return null
  const refusal = (rule: string, why: string, attribute: string): Refusal => {
    const option = `session.cookie.${attribute}`
    const sentence = `The session's cookie "${cookie.name}" did not come with the request: ${why}; ` +
      `the option ${option} decides.`
    return { kind: 'cookie', sentence, rule, option }
  }
  if (cookie.path !== undefined && !isBelow(path, cookie.path)) {
    return refusal('Path', `browsers send it only to ${cookie.path} and paths below it`, 'path')
  }
  if (cookie.secure === true && scheme !== 'https') {
    return refusal('Secure', 'it is Secure, and the request came by http', 'secure')
  }
  const sameSite = cookie.sameSite === true ? 'strict' : String(cookie.sameSite || 'lax').toLowerCase()
  const isLink = mode === 'navigate' && (method === 'GET' || method === 'HEAD')
  if (site !== 'cross-site' || sameSite === 'none' || (sameSite === 'lax' && isLink)) return null
  const [value, when] = sameSite === 'strict'
    ? ['Strict', 'within its own site only']
    : ['Lax', 'from other sites with links only']
  const why = `the request is cross-site (Sec-Fetch-Site), and browsers send a cookie with SameSite=${value} ${when}`
  return refusal(`SameSite=${value}`, why, 'sameSite')
}

function needsLogin (security: SecurityRecord | null): boolean {
  if (security === null || security.user !== null) return false
  const { authenticators, rule, expression, decisions } = security
  return authenticators.some(({ name }) => name === 'session') &&
    (rule?.granted === false || expression?.result === false || decisions.some(({ granted }) => !granted))
}

// RFC 6265bis, section 5.1.4.
function isBelow (path: string, cookiePath: string): boolean {
  return path === cookiePath ||
    (path.startsWith(cookiePath) && (cookiePath.endsWith('/') || path[cookiePath.length] === '/'))
}
