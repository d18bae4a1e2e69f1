import { getHeapStatistics } from 'node:v8'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { recordsOf } from '../../../diagnostics/records.js'
import { drawNonce } from '../../../kernel/content-policy.js'
import type { RouteMatch } from '../../../kernel/route-config.js'
import { stateOf } from '../../../kernel/request-state.js'
import type { ProfiledRoute } from '../../profile.js'
import { toolbar } from './component.js'
import { toolbarOf } from './data.js'
import { barRights, extendPolicy, type BarNonces, type BarRights } from './policy.js'

/** The collectors that the bar has something of. */
const SHOWN = ['router', 'security', 'locale', 'cache', 'http-client']
const POLICIES = ['content-security-policy', 'content-security-policy-report-only']

/** The bar for a page that is about to be sent; the policies of the response are made to allow it. */
export function barFor (request: FastifyRequest, reply: FastifyReply, profile: { token: string, url: string }): string {
  const nonces = { style: drawNonce(), script: drawNonce() }
  const rights = barRights(policiesOf(reply))
  const markup = bar(request, reply, profile, nonces, rights)
  allowBar(reply, nonces, rights)
  return markup
}

function bar (request: FastifyRequest, { statusCode }: FastifyReply, { token, url }: { token: string, url: string }, nonces: BarNonces, rights: BarRights): string {
  const { log, recorder, startedAt, startedTime, handlerStart, handlerEnd } = stateOf(request)
  const { router, ...collectors } = collectedBy(request)
  const { matched } = (router ?? {}) as { matched?: ProfiledRoute | null }
  return toolbar(toolbarOf({
    token,
    status: statusCode,
    method: request.method,
    route: matched ?? (stateOf(request).route === null ? null : { ...stateOf(request).route as RouteMatch, methods: [] }),
    duration: performance.now() - startedAt,
    logs: recordsOf(log, recorder?.events() ?? [], startedTime),
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
