import type { FastifyReply, FastifyRequest } from 'fastify'
import { refusalOf } from '../../errors/refusal.js'
import type { Refusal } from '../../errors/report.js'
import { stateOf } from '../../lifecycle/request-state.js'
import { servicesOf } from '../../lifecycle/services.js'
import type { SecurityRecord } from '../../security/context.js'
import { cut, visibleLine } from '../../view/visible.js'
import type { CorsVerdict } from '../panels/cors-collector.js'
import { droppedCookies } from './cookies.js'

const MAX_TEXT = 300

/** Why a request was refused, and what its browser will not accept of the response: the refusal first. */
export function blockedBy (
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  { cors, security }: Readonly<Record<string, unknown>>
): Refusal[] {
  const verdict = isObject(cors) && 'allowed' in cors ? cors as unknown as CorsVerdict : null
  const record = isObject(security) && 'authenticators' in security ? security as unknown as SecurityRecord : null
  const sent = stateOf(request).sentHeaders ?? reply.getHeaders()
  // A preflight that CORS refuses has no other reason.
  const isRefusedPreflight = verdict?.preflight === true && verdict.allowed === false
  const refusal = isRefusedPreflight ? null : refusalOf(request, reply, status, record)
  return [refusal, corsBlock(request, sent, verdict), ...cookieBlocks(request, sent)].filter((one) => one !== null)
}

function isObject (value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

type Sent = Readonly<Record<string, unknown>>

function corsBlock (request: FastifyRequest, sent: Sent, verdict: CorsVerdict | null): Refusal | null {
  const { origin, cookie, 'sec-fetch-mode': mode, 'sec-fetch-site': site } = request.headers
  const { mask, originOf } = servicesOf(request)
  // Browsers show the response of a navigation, whatever its origin.
  if (origin === undefined || (mode !== undefined && mode !== 'cors')) return null
  const { scheme, authority } = originOf(request)
  if (origin === `${scheme}://${authority}` || site === 'same-origin') return null
  if (verdict !== null) {
    const hasCredentials = cookie !== undefined && mode === 'cors'
    return verdictBlock(verdict, hasCredentials && sent['access-control-allow-credentials'] !== 'true')
  }
  // The option cors is not set.
  const isPreflight = request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined
  if (sent['access-control-allow-origin'] !== undefined || !(isPreflight || mode === 'cors')) return null
  const page = visibleLine(cut(mask.header('origin', origin), MAX_TEXT))
  return corsRefusal(page, isPreflight, 'no rule is configured', 'cors')
}

function verdictBlock (verdict: CorsVerdict, needsCredentials: boolean): Refusal | null {
  const { allowed, origin, rule, why, preflight } = verdict
  if (origin === null || allowed === null) return null
  // An allowed origin is not enough then (Fetch, section 3.3.5).
  if (allowed && (preflight || !needsCredentials)) return null
  if (rule === null) return corsRefusal(origin, preflight, why, 'cors')
  const [, part = 'origin'] = allowed ? ['', 'credentials'] : /^CORS: the (method|header) /.exec(why) ?? []
  const option = `cors[${rule.index}].${{ method: 'methods', header: 'allowedHeaders' }[part] ?? part}`
  const reason = allowed ? 'it sent cookies, and credentials are not allowed' : why.replace(/^CORS: |\.$/g, '')
  return corsRefusal(origin, preflight, `${reason} (rule ${rule.index} of cors, path ${rule.path})`, option)
}

function corsRefusal (origin: string, isPreflight: boolean, reason: string, option: string): Refusal {
  const what = isPreflight
    ? `The preflight of ${origin} was refused`
    : `The page of ${origin} may not read the response`
  return { kind: 'cors', sentence: `${what}: ${reason}; the option ${option} decides.`, rule: option, option }
}

function cookieBlocks (request: FastifyRequest, sent: Sent): Refusal[] {
  const { originOf, sessions } = servicesOf(request)
  const { scheme, host } = originOf(request)
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode } = request.headers as Record<string, string | undefined>
  return droppedCookies(sent['set-cookie'], { scheme, host, site, mode, sessionCookie: sessions?.cookieName ?? null })
}
