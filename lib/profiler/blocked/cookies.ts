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
}

const MAX_COOKIES = 50

/** The cookies of a response that browsers reject, and why (RFC 6265bis, section 5.7); without their values. */
export function droppedCookies (header: unknown, context: CookieContext): Refusal[] {
  const lines = [header].flat().filter((line) => typeof line === 'string').slice(0, MAX_COOKIES)
  return lines.flatMap((line) => {
    const [cookie] = parseSetCookie(line, { decodeValues: false, split: false, silent: true })
    const broken = cookie && rulesOf(cookie, context).find(([isBroken]) => isBroken)
    if (cookie === undefined || broken === undefined) return []
    const [, attribute, rule] = broken
    const option = cookie.name === context.sessionCookie
      ? `session.cookie.${attribute}`
      : `${attribute} of the cookie`
    const name = cut(visibleLine(cookie.name), 100)
    const sentence = `The browser drops the cookie "${name}": ${rule}; the option ${option} decides.`
    return [{ kind: 'cookie', sentence, rule, option }]
  })
}

/** The rules for a cookie: whether it breaks them, and the attribute that decides, as options call it. */
function rulesOf (
  cookie: Cookie, { scheme, host, site, mode }: CookieContext
): Array<[isBroken: boolean, attribute: string, rule: string]> {
  const { name, path, secure = false } = cookie
  const sameSite = cookie.sameSite?.toLowerCase() ?? 'lax'
  const domain = cookie.domain?.replace(/^\./, '').toLowerCase() ?? ''
  const isHostPrefixed = /^__host-/i.test(name)
  // A top-level navigation may set cookies of its site.
  const isEmbedded = site === 'cross-site' && mode !== undefined && mode !== 'navigate'
  return [
    [/^__(?:secure|host)-/i.test(name) && !secure, 'secure', 'the prefix of its name needs Secure'],
    [isHostPrefixed && path !== '/', 'path', 'the prefix __Host- of its name needs Path=/'],
    [isHostPrefixed && domain !== '', 'domain', 'the prefix __Host- of its name allows no Domain'],
    [secure && scheme !== 'https' && !isLoopback(host), 'secure', 'it is Secure, and the request came by http'],
    [sameSite === 'none' && !secure, 'secure', 'it has SameSite=None without Secure'],
    [domain !== '' && !isAllowedDomain(host, domain), 'domain',
      `its Domain ${cut(visibleLine(domain), 100)} is neither the host ${host} nor a parent domain that may be set`],
    [isEmbedded && sameSite !== 'none', 'sameSite',
      `the request was cross-site (Sec-Fetch-Site), and its SameSite is ${sameSite}`]
  ]
}

// Browsers accept Secure cookies of the machine itself by http.
function isLoopback (host: string): boolean {
  return /^(?:(?:.+\.)?localhost|127\.[\d.]+|\[?::1\]?)$/.test(host)
}

// RFC 6265bis, section 5.1.3. Of the public suffixes only those of one label are recognized.
function isAllowedDomain (host: string, domain: string): boolean {
  if (host === domain) return true
  return isIP(host.replace(/^\[|\]$/g, '')) === 0 && domain.includes('.') && host.endsWith(`.${domain}`)
}
