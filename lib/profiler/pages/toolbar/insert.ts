import { isUtf8 } from 'node:buffer'
import { getHeapStatistics } from 'node:v8'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { linesOf, withNotifications } from '../../../errors/records.js'
import { messageOf, nameOf } from '../../../errors/thrown-value.js'
import { drawNonce } from '../../../http/content-policy.js'
import { absoluteUrl } from '../../../http/origin.js'
import type { Origin } from '../../../http/request-origin.js'
import { isRedirect } from '../../../http/responses.js'
import { stateOf } from '../../../lifecycle/request-state.js'
import { servicesOf } from '../../../lifecycle/services.js'
import type { ProfiledRoute } from '../../profile.js'
import { addressesOf } from '../hashed-asset.js'
import { toolbar, toolbarAssets, type ToolbarFiles } from './component.js'
import { toolbarOf, type ToolbarData } from './data.js'
import {
  extendHeader, metaPolicies, policiesIn, rightsUnder, type PageOrigin, type ToolbarNonces, type ToolbarRights
} from './policy.js'

const BODY_END = /<\/body\s*>/gi
const FOREIGN_BASE = /<base\b[^>]*\shref\s*=\s*["']?\s*(?:[a-z][a-z\d+.-]*:|\/\/)/i
/** The collectors whose data the toolbar shows. */
const SHOWN = ['router', 'security', 'locale', 'cache', 'http-client']
const POLICY_HEADERS = ['content-security-policy', 'content-security-policy-report-only'] as const
/** Headers about the bytes that the application sent: a page with a toolbar is a different one each time. */
const VALIDATORS = ['etag', 'last-modified', 'accept-ranges']

type Insert = (request: FastifyRequest, reply: FastifyReply, payload: unknown) => string | undefined

interface FoundProfile {
  token: string
  url: string
}

/**
 * Sets `X-Debug-Token-Link`, the absolute address of the request's profile.
 * False, and no header: the request has no profile, or its client may not see the debug surface.
 */
export function tellProfile (app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): boolean {
  const profile = app.hindsight.profiles?.profileOf(request) ?? null
  if (profile === null || !app.hindsight.maySeeDebug(request)) return false
  reply.header('x-debug-token-link', profile.url)
  return true
}

/**
 * Makes the function that inserts the toolbar into a response, for an `onSend` hook. It returns the new payload; or
 * undefined, and changes no header, where the response gets no toolbar. In `full` mode it extends the policies of the
 * response by nonces; in `observe` mode it leaves them as they are, and removes the validators.
 */
export function insertToolbar (app: FastifyInstance): Insert {
  const { mayReadDebug, originOf } = app.hindsight
  return (request, reply, payload) => {
    const profile = app.hindsight.profiles?.profileOf(request) ?? null
    if (profile === null || !mayReadDebug(request)) return
    if (!isNavigation(request) || !isWholePage(request, reply)) return
    const page = textOf(payload)
    const end = page === null ? -1 : lastBodyEnd(page)
    if (page === null || end === -1) return
    const isFull = app.hindsight.mode === 'full'
    const origin = originOf(request)
    const rights = rightsOn(page, reply, origin, isFull)
    if (!rights.style) return
    const nonces = isFull ? extendPolicies(reply, rights, origin) : {}
    const files = filesOf(addressesFor(page, origin, app.hindsight.base), profile.token, rights, nonces)
    const whole = page.slice(0, end) + toolbar(dataOf(request, reply, profile), files) + page.slice(end)
    if (!isFull) for (const name of VALIDATORS) reply.removeHeader(name)
    if (reply.hasHeader('content-length')) reply.header('content-length', Buffer.byteLength(whole))
    return whole
  }
}

// Fetch Metadata, section 2.1: a page that a script requested is not displayed as one.
function isNavigation ({ headers }: FastifyRequest): boolean {
  const { 'x-requested-with': requestedWith, 'sec-fetch-dest': destination } = headers
  if (String(requestedWith ?? '').toLowerCase() === 'xmlhttprequest') return false
  return destination === undefined || destination === 'document' || destination === 'iframe'
}

function isWholePage (request: FastifyRequest, reply: FastifyReply): boolean {
  const type = String(reply.getHeader('content-type') ?? '')
  const charset = /charset\s*=\s*"?([^\s;"]*)/i.exec(type)?.[1] ?? ''
  return stateOf(request).ownPolicy === undefined &&
    /^text\/html\s*(?:;|$)/i.test(type) && /^(?:utf-?8)?$/i.test(charset) &&
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

// A nonce can be added to a header, never to a policy within the page.
function rightsOn (page: string, reply: FastifyReply, origin: PageOrigin, withNonces: boolean): ToolbarRights {
  const sent = POLICY_HEADERS.flatMap((name) => valuesOf(reply, name)).flatMap(policiesIn)
  const byHeader = rightsUnder(sent, origin, withNonces)
  const byMeta = rightsUnder(metaPolicies(page), origin)
  return {
    style: byHeader.style && byMeta.style,
    script: byHeader.script && byMeta.script,
    connect: byHeader.connect && byMeta.connect
  }
}

/** Adds nonces to the policies of the response where they are needed, and returns those that it added. */
function extendPolicies (reply: FastifyReply, rights: ToolbarRights, origin: PageOrigin): ToolbarNonces {
  const nonces: ToolbarNonces = { style: drawNonce(), ...(rights.script && { script: drawNonce() }) }
  const used: ToolbarNonces = {}
  for (const name of POLICY_HEADERS) {
    const values = valuesOf(reply, name)
    const extended = values.map((value) => extendHeader(value, nonces, origin))
    if (extended.every((value, i) => value === values[i])) continue
    reply.header(name, extended.length === 1 ? extended[0] : extended)
    for (const [kind, nonce] of Object.entries(nonces)) {
      if (extended.some((value) => value.includes(nonce))) used[kind as keyof ToolbarNonces] = nonce
    }
  }
  return used
}

function valuesOf (reply: FastifyReply, name: string): string[] {
  return [reply.getHeader(name) ?? []].flat().map(String)
}

interface Addresses {
  style: string
  script: string
  /** Where the toolbar's data of profiles is, without a slash at the end. */
  data: string
}

// A path leads to the origin of the page, even if a proxy hides that from the application. `<base>` can name another.
function addressesFor (page: string, origin: Origin, base: string): Addresses {
  const path = origin.prefix + base
  const root = FOREIGN_BASE.test(page) ? absoluteUrl(origin, base) : path
  return { ...addressesOf(toolbarAssets, `${root}/_profiler`), data: `${path}/_wdt` }
}

function filesOf (
  { style, script, data }: Addresses,
  token: string,
  rights: ToolbarRights,
  nonces: ToolbarNonces
): ToolbarFiles {
  return {
    style: { href: style, nonce: nonces.style },
    script: rights.script
      ? { src: script, nonce: nonces.script, data: rights.connect ? `${data}/${token}.json` : null }
      : null
  }
}

function dataOf (request: FastifyRequest, { statusCode }: FastifyReply, { token, url }: FoundProfile): ToolbarData {
  const { log, recorder, startedAt, startedTime, handlerStart, handlerEnd, route, failed, raised, missed, others } = stateOf(request)
  const { mask } = servicesOf(request)
  const errors = failed ? [raised] : missed !== null ? [missed] : others.slice(0, 1)
  const { router, ...collectors } = collectedBy(request)
  const { matched } = (router ?? {}) as { matched?: ProfiledRoute | null }
  const now = performance.now()
  const handler = handlerStart === 0 ? {} : { handler: (handlerEnd === 0 ? now : handlerEnd) - handlerStart }
  return toolbarOf({
    token,
    status: statusCode,
    method: request.method,
    route: matched ?? (route === null ? null : { ...route, methods: [] }),
    duration: now - startedAt,
    exceptions: errors.map((error) => ({ name: mask.text(nameOf(error)), message: mask.text(messageOf(error)) })),
    logs: withNotifications(linesOf(log), recorder?.events() ?? [], startedTime),
    collectors: {
      ...collectors,
      performance: { ...handler, process: { heapAfter: getHeapStatistics().used_heap_size } }
    }
  }, url)
}

// A collector that fails is reported by the profile.
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
