import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Skip, type ResponseHook } from '../../../kernel/listener.js'
import { LoadedLater } from '../../../kernel/loaded-later.js'
import { isRedirect } from '../../../kernel/responses.js'
import { stateOf } from '../../../kernel/request-state.js'

const noProfile = new Skip('the request has no profile, or its client may not see it')
const BODY_END = /<\/body\s*>/gi

/** Makes the hook that tells where a profile is, and puts the bar into pages. */
export function toolbarHook (app: FastifyInstance, shown: boolean): ResponseHook {
  const { maySeeDebug, mayReadDebug } = app.hindsight
  const bars = new LoadedLater(app, () => import('./bar.js'))
  return (request, reply, payload) => {
    const profile = app.hindsight.profileOf?.(request) ?? null
    if (profile === null || !maySeeDebug(request)) return noProfile
    reply.header('x-debug-token-link', profile.url)
    if (!shown || !mayReadDebug(request) || !isNavigation(request) || !isWholePage(request, reply)) return
    const page = textOf(payload)
    const end = page === null ? -1 : lastBodyEnd(page)
    if (page === null || end === -1) return
    const insert = (bar: string): string => {
      const whole = page.slice(0, end) + bar + page.slice(end)
      if (reply.hasHeader('content-length')) reply.header('content-length', Buffer.byteLength(whole))
      return whole
    }
    if (bars.now !== null) return insert(bars.now.barFor(request, reply, profile))
    return bars.load().then(({ barFor }) => insert(barFor(request, reply, profile)))
  }
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
