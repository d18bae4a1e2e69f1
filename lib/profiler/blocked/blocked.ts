import type { FastifyReply, FastifyRequest } from 'fastify'
import { refusalOf } from '../../errors/refusal.js'
import type { Refusal } from '../../errors/report.js'
import { pathnameOf } from '../../http/request-target.js'
import { stateOf } from '../../lifecycle/request-state.js'
import { servicesOf } from '../../lifecycle/services.js'
import type { SecurityRecord } from '../../security/context.js'
import { cut, visibleLine } from '../../view/visible.js'
import type { CorsVerdict } from '../collectors/cors.js'
import { corsRefusal, unruledRefusal } from './cors.js'
import { lostSession } from './lost-session.js'
import { droppedCookies } from './set-cookie.js'

/** Why a request was refused, and what of its answer its browser will not take: one sentence each, the refusal itself first. */
export function blockedBy (request: FastifyRequest, reply: FastifyReply, status: number, collectors: Readonly<Record<string, unknown>>): Refusal[] {
  const security = recordOf(collectors.security)
  const refusal = isPreflightAnswer(collectors.cors) ? null : refusalOf(request, reply, status, security)
  return [refusal, byCors(request, reply, collectors.cors), ...cookiesOf(request, reply, security)].filter((one) => one !== null)
}

// A preflight is refused by CORS and by nothing else.
function isPreflightAnswer (verdict: unknown): boolean {
  return isVerdict(verdict) && verdict.preflight && verdict.allowed === false
}

function byCors (request: FastifyRequest, reply: FastifyReply, verdict: unknown): Refusal | null {
  const { headers } = request
  const { mask, originOf } = servicesOf(request)
  const { origin, cookie } = headers
  if (origin === undefined) return null
  const mode = fetchHeader(request, 'mode')
  // What a form leads to is shown, whoever sent it.
  if (mode !== undefined && mode !== 'cors') return null
  const { scheme, authority } = originOf(request)
  if (origin === `${scheme}://${authority}` || fetchHeader(request, 'site') === 'same-origin') return null
  const path = visibleLine(cut(mask.text(pathnameOf(request)), 300))
  if (isVerdict(verdict)) return corsRefusal(verdict, cookie !== undefined && mode === 'cors', path)
  return unruledRefusal({
    origin: visibleLine(cut(mask.header('origin', origin), 300)),
    mode,
    preflight: request.method === 'OPTIONS' && headers['access-control-request-method'] !== undefined,
    given: (stateOf(request).sentHeaders ?? reply.getHeaders())['access-control-allow-origin']
  })
}

function cookiesOf (request: FastifyRequest, reply: FastifyReply, security: SecurityRecord | null): Refusal[] {
  const { cookiesOf: cookiesThatCame, originOf, sessionCookie = null } = servicesOf(request)
  const state = stateOf(request)
  const setCookie = (state.sentHeaders ?? reply.getHeaders())['set-cookie']
  const mayBeLost = sessionCookie !== null && (state.sessionTouched === true || security !== null)
  if (setCookie === undefined && !mayBeLost) return []
  const { scheme, host } = originOf(request)
  const [site, mode] = [fetchHeader(request, 'site'), fetchHeader(request, 'mode')]
  const lost = !mayBeLost
    ? null
    : lostSession({
      cookie: sessionCookie,
      sent: cookiesThatCame(request)[sessionCookie.name] !== undefined,
      used: state.sessionTouched === true,
      security,
      method: request.method,
      path: pathnameOf(request),
      scheme,
      site,
      mode
    })
  return [...(lost === null ? [] : [lost]), ...droppedCookies(setCookie, { scheme, host, site, mode, sessionCookie: sessionCookie?.name ?? null, setAt })]

  function setAt (name: string): string | null {
    const change = state.recorder?.outsideChanges.findLast((one) => one.name === 'set-cookie' && [one.to].flat().some((cookie) => String(cookie).startsWith(`${name}=`)))
    return change?.source ?? null
  }
}

function fetchHeader ({ headers }: FastifyRequest, name: 'site' | 'mode'): string | undefined {
  const value = headers[`sec-fetch-${name}`]
  return typeof value === 'string' ? value : undefined
}

function isVerdict (verdict: unknown): verdict is CorsVerdict {
  return typeof verdict === 'object' && verdict !== null && 'allowed' in verdict
}

function recordOf (record: unknown): SecurityRecord | null {
  return typeof record === 'object' && record !== null && 'authenticators' in record ? record as SecurityRecord : null
}
