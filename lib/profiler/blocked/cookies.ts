import { isIP } from 'node:net'
import { parseSetCookie, type Cookie } from 'set-cookie-parser'
import type { Refusal } from '../../errors/report.js'
import { cut, visibleLine } from '../../view/visible.js'

/** The facts of a request that decide whether a browser accepts cookies. */
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

/** A rule of browsers, and whether a cookie violates it. */
interface CookieRule {
  violated: boolean
  /** The attribute that decides, as options call it. */
  attribute: string
  rule: string
  /** What is wrong with the cookie. */
  why: string
}

const MAX_BYTES = 4_096
const MAX_COOKIES = 50
const SECURE_PREFIX = 'the prefix __Secure- of its name'
const HOST_PREFIX = 'the prefix __Host- of its name'
const HOST_RULE = 'the prefix __Host- needs Secure, Path=/ and no Domain'

/** The cookies of a response that browsers reject, and why (RFC 6265bis, section 5.7); without their values. */
export function droppedCookies (header: unknown, context: CookieContext): Refusal[] {
  const lines = [header].flat().filter((line) => typeof line === 'string').slice(0, MAX_COOKIES)
  return lines.flatMap((line) => {
    const [cookie] = parseSetCookie(line, { decodeValues: false, split: false, silent: true })
    const broken = cookie && rulesOf(cookie, context).find(({ violated }) => violated)
    if (cookie === undefined || broken === undefined) return []
    const { attribute, rule, why } = broken
    const isSession = cookie.name === context.sessionCookie
    const option = !isSession
      ? `${attribute} of the cookie`
      : attribute === 'name' ? 'session.cookieName' : `session.cookie.${attribute}`
    const place = isSession ? null : context.setAt?.(cookie.name) ?? null
    const where = place === null ? '' : `, which is set at ${place},`
    const name = cut(visibleLine(cookie.name), 100)
    const sentence = `The browser drops the cookie "${name}": ${why}; the option ${option}${where} decides.`
    return [{ kind: 'cookie', sentence, rule, option }]
  })
}

/** The rules for a cookie, the one that explains most first. */
function rulesOf (cookie: Cookie, { scheme, host, site, mode }: CookieContext): CookieRule[] {
  const { name, value, path, secure = false, partitioned = false } = cookie
  const sameSite = cookie.sameSite?.toLowerCase()
  const domain = cookie.domain?.replace(/^\./, '').toLowerCase() ?? ''
  const bytes = Buffer.byteLength(name) + Buffer.byteLength(value)
  const isSecurePrefixed = /^__secure-/i.test(name)
  const isHostPrefixed = /^__host-/i.test(name)
  // Browsers differ for requests to the machine itself.
  const exception = isLoopback(host) ? ` (Safari does; Chromium and Firefox make an exception for ${host})` : ''
  // A top-level navigation may set cookies of its site.
  const isEmbedded = site === 'cross-site' && mode !== undefined && mode !== 'navigate'
  const rule = (violated: boolean, attribute: string, rule: string, why: string): CookieRule =>
    ({ violated, attribute, rule, why })
  return [
    rule(bytes > MAX_BYTES, 'name', 'RFC 6265bis: name and value have at most 4,096 bytes',
      `its name and value have ${bytes.toLocaleString('en')} bytes, and browsers take 4,096`),
    rule(isSecurePrefixed && !secure, 'secure', 'the prefix __Secure- needs Secure', `${SECURE_PREFIX} needs Secure`),
    rule(isHostPrefixed && !secure, 'secure', HOST_RULE, `${HOST_PREFIX} needs Secure`),
    rule(isHostPrefixed && path !== '/', 'path', HOST_RULE, `${HOST_PREFIX} needs Path=/`),
    rule(isHostPrefixed && domain !== '', 'domain', HOST_RULE, `${HOST_PREFIX} allows no Domain`),
    rule(secure && scheme !== 'https', 'secure', 'Secure needs https',
      `it is Secure, and the request came by http${exception}`),
    rule(sameSite === 'none' && !secure, 'secure', 'SameSite=None needs Secure',
      'it has SameSite=None without Secure'),
    rule(partitioned && !secure, 'secure', 'Partitioned needs Secure', 'it is Partitioned without Secure'),
    rule(domain !== '' && !isAllowedDomain(host, domain), 'domain', 'Domain must be the host or a parent domain',
      `its Domain ${cut(visibleLine(domain), 100)} is neither the host ${host} nor a domain that browsers let it set ` +
      'cookies for'),
    rule(isEmbedded && sameSite !== 'none', 'sameSite', 'cookies of cross-site requests need SameSite=None',
      `the request was cross-site (Sec-Fetch-Site), and its SameSite is ${sameSite ?? 'not given, which means Lax'}`)
  ]
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
