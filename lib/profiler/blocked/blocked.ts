import type { FastifyReply, FastifyRequest } from 'fastify'
import { refusalOf } from '../../errors/refusal.js'
import type { Refusal } from '../../errors/report.js'
import { pathnameOf } from '../../http/request-target.js'
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
  // A preflight that CORS refuses has no other reason.
  const isRefusedPreflight = verdict?.preflight === true && verdict.allowed === false
  const refusal = isRefusedPreflight ? null : refusalOf(request, reply, status, record)
  const all = [refusal, corsBlock(request, reply, verdict), ...cookieBlocks(request, reply)]
  return all.filter((one) => one !== null)
}

function isObject (value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function corsBlock (request: FastifyRequest, reply: FastifyReply, verdict: CorsVerdict | null): Refusal | null {
  const { origin, cookie, 'sec-fetch-mode': mode, 'sec-fetch-site': site } = request.headers
  const { mask, originOf } = servicesOf(request)
  // Browsers show the response of a navigation, whatever its origin.
  if (origin === undefined || (mode !== undefined && mode !== 'cors')) return null
  const { scheme, authority } = originOf(request)
  if (origin === `${scheme}://${authority}` || site === 'same-origin') return null
  if (verdict !== null) {
    const path = visibleLine(cut(mask.text(pathnameOf(request)), MAX_TEXT))
    return verdictBlock(verdict, cookie !== undefined && mode === 'cors', path)
  }
  // The option cors is not set.
  const isPreflight = request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined
  const given = sentHeaders(request, reply)['access-control-allow-origin']
  if (given !== undefined || !(isPreflight || mode === 'cors')) return null
  const subject = corsSubject(visibleLine(cut(mask.header('origin', origin), MAX_TEXT)), isPreflight)
  const sentence = `${subject}: nothing allows it, as the option cors is not set.`
  return { kind: 'cors', sentence, rule: 'no CORS at all', option: 'cors' }
}

function corsSubject (origin: string, isPreflight: boolean): string {
  return isPreflight ? `The preflight of ${origin} was refused` : `The page of ${origin} may not read the answer`
}

function verdictBlock (verdict: CorsVerdict, withCredentials: boolean, path: string): Refusal | null {
  const { allowed, origin, rule, why, preflight, headers, wanted } = verdict
  if (origin === null || allowed === null) return null
  const refusal = (reason: string, rule: string, option = rule): Refusal => {
    const sentence = `${corsSubject(origin, preflight)}: ${reason}; the option ${option} decides.`
    return { kind: 'cors', sentence, rule, option }
  }
  if (rule === null) {
    const option = 'cors (a rule with this path and origin)'
    return allowed ? null : refusal(`no rule of the option cors holds for ${path}`, 'no CORS rule', option)
  }
  const name = `cors[${rule.index}]`
  const text = `rule ${rule.index} of cors (path ${rule.path})`
  if (allowed) {
    // With credentials `*` is not enough (Fetch, section 3.3.5).
    const isEnough = preflight || !withCredentials || headers['access-control-allow-credentials'] === 'true'
    if (isEnough) return null
    const sentence = `The page of ${origin} sent cookies, and may not read the answer: ${text} does not allow ` +
      `credentials; the option ${name}.credentials decides.`
    return { kind: 'cors', sentence, rule: `${name}.credentials`, option: `${name}.credentials` }
  }
  // A refused method or header comes before the origin, which may be refused as well.
  const reason = why.replace(/^CORS: /, '').replace(/\.$/, '')
  if (preflight && reason.startsWith('the method ')) return refusal(`${text}: ${reason}`, `${name}.methods`)
  if (preflight && reason.startsWith('the header ')) return refusal(`${text}: ${reason}`, `${name}.allowedHeaders`)
  const sent = headers['access-control-allow-origin']
  const request = wanted === null ? '' : ` for ${wanted.method}`
  const answer = sent === undefined ? '' : `, and the answer${request} says ${String(sent)}`
  return refusal(`${text} allows ${rule.origin}${answer}`, `${name}.origin`)
}

function cookieBlocks (request: FastifyRequest, reply: FastifyReply): Refusal[] {
  const setCookie = sentHeaders(request, reply)['set-cookie']
  if (setCookie === undefined) return []
  const { originOf, sessions } = servicesOf(request)
  const { recorder } = stateOf(request)
  const { scheme, host } = originOf(request)
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode } = request.headers as Record<string, string | undefined>
  const setAt = (name: string): string | null => recorder?.outsideChanges.findLast((change) =>
    change.name === 'set-cookie' && [change.to].flat().some((cookie) => String(cookie).startsWith(`${name}=`))
  )?.source ?? null
  return droppedCookies(setCookie, { scheme, host, site, mode, sessionCookie: sessions?.cookieName ?? null, setAt })
}

function sentHeaders (request: FastifyRequest, reply: FastifyReply): Readonly<Record<string, unknown>> {
  return stateOf(request).sentHeaders ?? reply.getHeaders()
}
