import { isIP } from 'node:net'
import type { Refusal } from '../../errors/report.js'
import { cut, visibleLine } from '../../view/visible.js'

/** What decides whether a browser takes the cookies of a response. */
export interface CookieContext {
  scheme: string
  /** Without the port. */
  host: string
  /** `Sec-Fetch-Site` and `Sec-Fetch-Mode` of the request, where the browser sent them. */
  site: string | undefined
  mode: string | undefined
  /** The name of the session's cookie; null without sessions. */
  sessionCookie: string | null
  /** Where a cookie was asked for, `file:line`; null where that is not known. */
  setAt?: (name: string) => string | null
}

interface Cookie {
  name: string
  bytes: number
  attributes: ReadonlyMap<string, string>
}

interface Fault {
  rule: string
  why: string
  /** The attribute that decides, as options call it. */
  attribute: string
}

const MAX_BYTES = 4_096
const MAX_COOKIES = 50

/** Which cookies of a response a browser drops, and why (RFC 6265bis, section 5.7); the values are never told. */
export function droppedCookies (header: unknown, context: CookieContext): Refusal[] {
  const lines = (Array.isArray(header) ? header : [header]).filter((line): line is string => typeof line === 'string').slice(0, MAX_COOKIES)
  return lines.flatMap((line) => {
    const cookie = parsed(line)
    const fault = faultOf(cookie, context)
    if (fault === null) return []
    const name = cut(visibleLine(cookie.name), 100)
    const isSession = cookie.name === context.sessionCookie
    const option = isSession ? (fault.attribute === 'name' ? 'session.cookieName' : `session.cookie.${fault.attribute}`) : `${fault.attribute} of the cookie`
    const place = isSession ? null : context.setAt?.(cookie.name) ?? null
    return [{ kind: 'cookie' as const, sentence: `The browser drops the cookie "${name}": ${fault.why}; the option ${option}${place === null ? '' : `, which is set at ${place},`} decides.`, rule: fault.rule, option }]
  })
}

function faultOf ({ name, bytes, attributes }: Cookie, context: CookieContext): Fault | null {
  const secure = attributes.has('secure')
  const sameSite = attributes.get('samesite')?.toLowerCase()
  if (bytes > MAX_BYTES) return { rule: 'RFC 6265bis: name and value have at most 4,096 bytes', why: `its name and value have ${bytes.toLocaleString('en')} bytes, and browsers take 4,096`, attribute: 'name' }
  const prefixed = prefixFault(name, attributes, secure)
  if (prefixed !== null) return prefixed
  if (secure && context.scheme !== 'https') return insecure(context.host)
  if (sameSite === 'none' && !secure) return { rule: 'SameSite=None needs Secure', why: 'it has SameSite=None without Secure', attribute: 'secure' }
  if (attributes.has('partitioned') && !secure) return { rule: 'Partitioned needs Secure', why: 'it is Partitioned without Secure', attribute: 'secure' }
  const domain = attributes.get('domain')?.replace(/^\./, '').toLowerCase() ?? ''
  if (domain !== '' && !fits(context.host, domain)) {
    return { rule: 'Domain must be the host or one above it', why: `its Domain ${cut(visibleLine(domain), 100)} is neither the host ${context.host} nor a domain that browsers let it set cookies for`, attribute: 'domain' }
  }
  // A navigation may set what the page that it leads to needs.
  if (context.site === 'cross-site' && context.mode !== undefined && context.mode !== 'navigate' && sameSite !== 'none') {
    return { rule: 'cookies of cross-site requests need SameSite=None', why: `the request was cross-site (Sec-Fetch-Site), and its SameSite is ${sameSite ?? 'not given, which means Lax'}`, attribute: 'sameSite' }
  }
  return null
}

function prefixFault (name: string, attributes: Cookie['attributes'], secure: boolean): Fault | null {
  const lower = name.toLowerCase()
  if (lower.startsWith('__secure-') && !secure) return { rule: 'the prefix __Secure- needs Secure', why: 'the prefix __Secure- of its name needs Secure', attribute: 'secure' }
  if (!lower.startsWith('__host-')) return null
  const rule = 'the prefix __Host- needs Secure, Path=/ and no Domain'
  if (!secure) return { rule, why: 'the prefix __Host- of its name needs Secure', attribute: 'secure' }
  if (attributes.get('path') !== '/') return { rule, why: 'the prefix __Host- of its name needs Path=/', attribute: 'path' }
  return (attributes.get('domain') ?? '') === '' ? null : { rule, why: 'the prefix __Host- of its name allows no Domain', attribute: 'domain' }
}

// Browsers differ for what never leaves the machine.
function insecure (host: string): Fault {
  const rule = 'Secure needs https'
  const why = 'it is Secure, and the request came by http'
  return { rule, why: isLoopback(host) ? `${why} (Safari does; Chromium and Firefox make an exception for ${host})` : why, attribute: 'secure' }
}

function isLoopback (host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '')
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
}

// RFC 6265bis, section 5.1.3; a name of one label is a public suffix, of which no others can be known here.
function fits (host: string, domain: string): boolean {
  if (host === domain) return true
  return isIP(host.replace(/^\[|\]$/g, '')) === 0 && domain.includes('.') && host.endsWith(`.${domain}`)
}

function parsed (line: string): Cookie {
  const [pair = '', ...rest] = line.split(';')
  const equals = pair.indexOf('=')
  const name = (equals === -1 ? '' : pair.slice(0, equals)).trim()
  const value = pair.slice(equals + 1).trim()
  const attributes = new Map<string, string>()
  for (const part of rest) {
    const at = part.indexOf('=')
    const attribute = (at === -1 ? part : part.slice(0, at)).trim().toLowerCase()
    // Of one that is there twice the last counts (RFC 6265bis, section 5.7).
    if (attribute !== '') attributes.set(attribute, at === -1 ? '' : part.slice(at + 1).trim())
  }
  return { name, bytes: Buffer.byteLength(name) + Buffer.byteLength(value), attributes }
}
