import { parseSetCookie, type Cookie } from 'set-cookie-parser'
import { refusalOf } from '../../errors/refusal.js'
import { isSameOrigin } from '../../http/origin.js'
import { RequestTrace, type Refusal } from '../../recording/trace.js'
import type { Profile } from '../../store/profile.js'
import { cutText, presentItems, visibleLine } from '../../view/text.js'
import { isPreflight, type CorsVerdict } from '../cors/verdict.js'
import type { Part } from '../part.js'
import { listHint, listOf } from '../read.js'

/** Why the request was refused, and which parts of the response its browser rejects. */
export const blocked: Part = {
  name: 'blocked',
  ofRequests: true,
  build ({ trace, status, collectors }) {
    if (!(trace instanceof RequestTrace) || status === 0 || !trace.services.debug) return undefined
    const reasons = blockedBy(trace, status, collectors)
    if (reasons.length === 0) return undefined
    return reasons
  },
  notice: (_, profile) => ({
    title: profile.status >= 400 ? 'Why was it refused?' : 'What does the browser block?',
    sentences: sentencesOf(profile)
  }),
  issue (_, profile) {
    // The status of a refusal is in the list.
    if (profile.status < 400) return sentencesOf(profile)[0]
    return undefined
  },
  hints: (_, profile) => listHint('Why was this refused?', sentencesOf(profile), 20, ' ')
}

/** One for each reason. */
function sentencesOf ({ collectors }: Pick<Profile, 'collectors'>): string[] {
  return listOf(collectors.blocked).map(({ sentence }) => sentence).filter((sentence) => typeof sentence === 'string')
}

const MAX_TEXT = 300

/** The reasons why a request was refused, and why its browser rejects parts of the response; the refusal is first. */
export function blockedBy (
  trace: RequestTrace, status: number, { cors }: Readonly<Record<string, unknown>>
): Refusal[] {
  const verdict = 'allowed' in Object(cors) ? cors as CorsVerdict : null
  const sent = trace.recording.sending.headers
  // A preflight that CORS refuses has no other reason.
  const isRefusedPreflight = verdict?.preflight === true && verdict.allowed === false
  const refusal = !isRefusedPreflight && refusalOf(trace, status)
  return presentItems([refusal, corsBlock(trace, sent, verdict), ...cookieBlocks(trace, sent)])
}

type Sent = Readonly<Record<string, unknown>>

function corsBlock ({ request, services }: RequestTrace, sent: Sent, verdict: CorsVerdict | null): Refusal | null {
  const { origin, cookie, 'sec-fetch-mode': mode, 'sec-fetch-site': site } = request.headers
  const { mask, originOf } = services
  // Browsers show the response of a navigation, whatever its origin.
  if (origin === undefined || (mode !== undefined && mode !== 'cors')) return null
  if (isSameOrigin(origin, originOf(request)) || site === 'same-origin') return null
  if (verdict !== null) {
    const hasCredentials = cookie !== undefined && mode === 'cors'
    return verdictBlock(verdict, hasCredentials && sent['access-control-allow-credentials'] !== 'true')
  }
  // The option cors is not set.
  const isRefusedPreflight = isPreflight(request)
  if (sent['access-control-allow-origin'] !== undefined || !(isRefusedPreflight || mode === 'cors')) return null
  const page = visibleLine(cutText(mask.header('origin', origin), MAX_TEXT))
  return corsRefusal(page, isRefusedPreflight, 'no rule is configured', 'cors')
}

function verdictBlock (verdict: CorsVerdict, needsCredentials: boolean): Refusal | null {
  const { allowed, origin, rule, why, preflight } = verdict
  if (origin === null || allowed === null) return null
  // An allowed origin is not enough then (Fetch, section 3.3.5).
  if (allowed && (preflight || !needsCredentials)) return null
  if (rule === null) return corsRefusal(origin, preflight, why, 'cors')
  const refusedBy = (option: string, reason: string): Refusal => corsRefusal(origin, preflight,
    `${reason} (rule ${rule.index} of cors, path ${rule.path})`, `cors[${rule.index}].${option}`)
  if (allowed) return refusedBy('credentials', 'it sent cookies, and credentials are not allowed')
  const [, part = 'origin'] = /^CORS: the (method|header) /.exec(why) ?? []
  return refusedBy({ method: 'methods', header: 'allowedHeaders' }[part] ?? part, why.replace(/^CORS: |\.$/g, ''))
}

function corsRefusal (origin: string, ofPreflight: boolean, reason: string, option: string): Refusal {
  const what = ofPreflight
    ? `The preflight of ${origin} was refused`
    : `The page of ${origin} may not read the response`
  return { kind: 'cors', sentence: `${what}: ${reason}; the option ${option} decides.`, option }
}

function cookieBlocks ({ request, services }: RequestTrace, sent: Sent): Refusal[] {
  const { originOf, lifecycle } = services
  const { scheme, host } = originOf(request)
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode } = request.headers as Record<string, string | undefined>
  const sessionCookie = lifecycle?.sessionCookie ?? null
  return droppedCookies(sent['set-cookie'], { scheme, host, site, mode, sessionCookie })
}

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
    const name = cutText(visibleLine(cookie.name), 100)
    const sentence = `The browser drops the cookie "${name}": ${rule}; the option ${option} decides.`
    return [{ kind: 'cookie', sentence, option }]
  })
}

/** The rules for a cookie, each with the attribute that decides, by its name in options. */
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
      `its Domain ${cutText(visibleLine(domain), 100)} is neither the host ${host} nor a parent domain that may be set`
    ],
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
  return host === domain || (domain.includes('.') && host.endsWith(`.${domain}`))
}
