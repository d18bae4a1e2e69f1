import { isUtf8 } from 'node:buffer'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { recordsOf } from '../diagnostics/records.js'
import { allowStyle, drawNonce } from '../kernel/content-policy.js'
import { listener, Skip } from '../kernel/listener.js'
import { isRedirect } from '../kernel/responses.js'
import { stateOf } from '../kernel/request-state.js'
import { countLogs, toolbar } from '../profiler/ui/toolbar/component.js'

export interface DebugToolbarOptions {
  /** Whether HTML pages carry the debug toolbar in debug mode; true by default. */
  toolbar?: boolean
}

const noProfile = new Skip('the request has no profile, or its client may not see it')
const BODY_END = /<\/body\s*>/gi
const POLICIES = ['content-security-policy', 'content-security-policy-report-only']

/** Tells the client where the profile of its request is, by a header and, in HTML pages, by a bar. */
export const debugToolbar = listener('kernel.response', 'debug-toolbar', (app, { toolbar: shown = true }: DebugToolbarOptions) => {
  const { debug, maySeeDebug } = app.hindsight
  if (!debug) return 'not in debug mode'
  return (request, reply, payload) => {
    const profile = app.hindsight.profileOf?.(request) ?? null
    if (profile === null || !maySeeDebug(request)) return noProfile
    reply.header('x-debug-token-link', profile.url)
    if (!shown || !isNavigation(request) || !isWholePage(request, reply)) return
    const page = textOf(payload)
    const end = page === null ? -1 : lastBodyEnd(page)
    if (page === null || end === -1) return
    const nonce = drawNonce()
    const whole = page.slice(0, end) + bar(request, reply, profile, nonce) + page.slice(end)
    allowBar(reply, nonce)
    if (reply.hasHeader('content-length')) reply.header('content-length', Buffer.byteLength(whole))
    return whole
  }
})

function bar (request: FastifyRequest, { statusCode }: FastifyReply, profile: { token: string, url: string }, nonce: string): string {
  const { log, recorder, startedAt, startedTime } = stateOf(request)
  return toolbar({
    ...profile,
    status: statusCode,
    method: request.method,
    route: request.route?.name ?? null,
    duration: performance.now() - startedAt,
    ...countLogs(recordsOf(log, recorder?.events() ?? [], startedTime))
  }, nonce)
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

// The content-security-policy listener ran before the bar was made; a policy of the route is held to as well.
function allowBar (reply: FastifyReply, nonce: string): void {
  for (const name of POLICIES) {
    const policy = reply.getHeader(name)
    if (policy === undefined) continue
    reply.header(name, Array.isArray(policy) ? policy.map((one) => allowStyle(one, nonce)) : allowStyle(String(policy), nonce))
  }
}
