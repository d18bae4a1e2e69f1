import type { FastifyReply, FastifyRequest } from 'fastify'
import { noncesOf } from '../http/content-policy.js'
import { stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import type { FlattenedException } from './exception.js'
import type { Representation } from './negotiate.js'

/** The modules that make the page: only requests that may see it need them. */
export type Pages = Awaited<ReturnType<typeof loadPages>>

export async function loadPages () {
  return { ...await import('./report-of.js'), ...await import('./render.js'), ...await import('../error-page/fallback.js') }
}

/** The diagnostic page of a failed request, in the form that was negotiated; its policy is left in `state.ownPolicy`. */
export function diagnosticPage (
  { reportOf, encodeReport }: Pages, request: FastifyRequest, reply: FastifyReply, type: Representation['type'], reason: string
): { body: string | Buffer, exception: FlattenedException } {
  const state = stateOf(request)
  const report = reportOf(request, state, reply.statusCode, reason)
  const { script, style } = noncesOf(state)
  state.ownPolicy = `default-src 'none'; style-src 'nonce-${style}'; script-src 'nonce-${script}'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
  return { body: encodeReport(report, type, { script, style }, servicesOf(request).editor), exception: report.exceptions.at(-1) as FlattenedException }
}
