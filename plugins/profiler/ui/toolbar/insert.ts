import { isUtf8 } from 'node:buffer'
import { getHeapStatistics } from 'node:v8'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { levelsOf } from '../../../diagnostics/records.js'
import { drawNonce } from '../../../kernel/content-policy.js'
import { Skip, type ResponseHook } from '../../../kernel/listener.js'
import { isRedirect } from '../../../kernel/responses.js'
import type { RouteMatch } from '../../../kernel/route-config.js'
import { stateOf } from '../../../kernel/request-state.js'
import type { ProfiledRoute } from '../../profile.js'
import { toolbar } from './component.js'
import { toolbarOf } from './data.js'
import { barRights, extendPolicy, type BarNonces, type BarRights } from './policy.js'

const noProfile = new Skip('the request has no profile, or its client may not see it')
const BODY_END = /<\/body\s*>/gi
/** The collectors that the bar has something of. */
const SHOWN = ['router', 'security', 'locale', 'cache', 'http-client']
const POLICIES = ['content-security-policy', 'content-security-policy-report-only']

/** Makes the hook that tells where a profile is, and puts the bar into pages. */
export function toolbarHook (app: FastifyInstance, shown: boolean): ResponseHook {
  const { maySeeDebug, mayReadDebug } = app.hindsight
  return (request, reply, payload) => {
    const profile = app.hindsight.profileOf?.(request) ?? null
    if (profile === null || !maySeeDebug(request)) return noProfile
    reply.header('x-debug-token-link', profile.url)
    if (!shown || !mayReadDebug(request) || !isNavigation(request) || !isWholePage(request, reply)) return
    const page = textOf(payload)
    const end = page === null ? -1 : lastBodyEnd(page)
    if (page === null || end === -1) return
    const nonces = { style: drawNonce(), script: drawNonce() }
    const rights = barRights(policiesOf(reply))
    const whole = page.slice(0, end) + bar(request, reply, profile, nonces, rights) + page.slice(end)
    allowBar(reply, nonces, rights)
    if (reply.hasHeader('content-length')) reply.header('content-length', Buffer.byteLength(whole))
    return whole
  }
}

function bar (request: FastifyRequest, { statusCode }: FastifyReply, { token, url }: { token: string, url: string }, nonces: BarNonces, rights: BarRights): string {
  const { log, recorder, startedAt, handlerStart, handlerEnd } = stateOf(request)
  const { router, ...collectors } = collectedBy(request)
  const { matched } = (router ?? {}) as { matched?: ProfiledRoute | null }
  return toolbar(toolbarOf({
    token,
    status: statusCode,
    method: request.method,
    route: matched ?? (stateOf(request).route === null ? null : { ...stateOf(request).route as RouteMatch, methods: [] }),
    duration: performance.now() - startedAt,
    logs: levelsOf(log, recorder?.events() ?? []),
    collectors: {
      ...collectors,
      performance: { ...(handlerStart !== 0 && { handler: (handlerEnd === 0 ? performance.now() : handlerEnd) - handlerStart }), process: { heapAfter: getHeapStatistics().used_heap_size } }
    }
  }, url), nonces, rights)
}

// As far as it is known already; what fails here is told by the profile.
function collectedBy (request: FastifyRequest): Record<string, unknown> {
  const collected = stateOf(request).collected ?? {}
  return Object.fromEntries(SHOWN.filter((name) => collected[name] !== undefined).map((name) => {
    const data = collected[name]
    try {
      return [name, typeof data === 'function' ? data() as unknown : data]
    } catch {
      return [name, null]
    }
  }))
}

// Fetch Metadata, section 2.1: a page that a script has asked for is not looked at as one.
function isNavigation ({ headers }: FastifyRequest): boolean {
  const { 'x-requested-with': requestedWith, 'sec-fetch-dest': destination } = headers
  return String(requestedWith ?? '').toLowerCase() !== 'xmlhttprequest' && (destination === undefined || destination === 'document' || destination === 'iframe')
}

function isWholePage (request: FastifyRequest, reply: FastifyReply): boolean {
  const type = String(reply.getHeader('content-type') ?? '')
  return stateOf(request).ownPolicy === '' &&
    /^text\/html\s*(?:;|$)/i.test(type) && /^(?:utf-?8)?$/i.test(/charset\s*=\s*"?([^\s;"]*)/i.exec(type)?.[1] ?? '') &&
    !isRedirect(reply) && reply.statusCode !== 206 &&
    /^(?:identity)?$/i.test(String(reply.getHeader('content-encoding') ?? '')) &&
    /^(?:inline\b.*)?$/i.test(String(reply.getHeader('content-disposition') ?? ''))
}

function textOf (payload: unknown): string | null {
  if (typeof payload === 'string') return payload
  return Buffer.isBuffer(payload) && isUtf8(payload) ? payload.toString('utf8') : null
}

function lastBodyEnd (page: string): number {
  let last = -1
  for (const { index } of page.matchAll(BODY_END)) last = index
  return last
}

function policiesOf (reply: FastifyReply): string[] {
  return POLICIES.flatMap((name) => [reply.getHeader(name) ?? []].flat().map(String))
}

// The content-security-policy listener ran before the bar was made; a policy of the route is held to as well.
function allowBar (reply: FastifyReply, nonces: BarNonces, rights: BarRights): void {
  for (const name of POLICIES) {
    const policy = reply.getHeader(name)
    if (policy === undefined) continue
    reply.header(name, Array.isArray(policy) ? policy.map((one) => extendPolicy(one, nonces, rights)) : extendPolicy(String(policy), nonces, rights))
  }
}
