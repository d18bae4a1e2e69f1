import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FlattenedException } from '../errors/exception.js'
import type { Representation } from '../errors/negotiate.js'
import { reportOf, type ErrorReport } from '../errors/report.js'
import { noncesOf, type Nonces } from '../http/content-policy.js'
import { stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import type { EditorLink } from '../view/editor.js'
import { safeJson } from '../view/json.js'
import { renderHtml } from './render-html.js'
import { detail } from './report-facts.js'
import { renderText } from './render-text.js'

/** Makes the diagnostic page of a failed request, and sets its Content-Security-Policy as `ownPolicy` of the state. */
export function diagnosticPage (
  request: FastifyRequest, reply: FastifyReply, type: Representation['type'], reason: string
): { body: string, exception: FlattenedException } {
  const state = stateOf(request)
  const report = reportOf(request, reply.statusCode, reason)
  const { script, style } = noncesOf(state)
  state.ownPolicy = `default-src 'none'; style-src 'nonce-${style}'; script-src 'nonce-${script}'; ` +
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  const body = renderReport(report, type, { script, style }, servicesOf(request).editor)
  return { body, exception: report.exceptions.at(-1) as FlattenedException }
}

/** Renders a report; plain text is Markdown. HTML needs the nonces of its policy; `editor` makes links to source. */
export function renderReport (
  report: ErrorReport, type: Representation['type'], nonce: Nonces, editor: EditorLink | null = null
): string {
  if (type === 'html') return renderHtml(report, nonce, editor)
  return type === 'json' ? renderJson(report) : renderText(report)
}

/** The report as a problem document (RFC 9457); its other parts are extension members. */
function renderJson (report: ErrorReport): string {
  const { reason, request, logs, ...members } = report
  // The path stays as the client sent it, unlike that of a parsed URL.
  const instance = /^[a-z][a-z\d+.-]*:\/\/[^/?#]*([^?#]+)/i.exec(request.url)?.[1]
  return safeJson({
    type: 'about:blank',
    title: reason,
    detail: detail(report),
    instance,
    ...members,
    // Each context by itself: one that cannot be serialized must not replace the document.
    logs: logs.map((record) => ({ ...record, context: JSON.parse(safeJson(record.context)) as unknown }))
  }, 2).replaceAll('<', '\\u003c')
}
