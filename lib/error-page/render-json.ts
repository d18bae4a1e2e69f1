import type { ErrorReport } from '../errors/report.js'
import { safeJson } from '../view/json.js'
import { headline } from './shared.js'

/** The report as a problem document (RFC 9457); exceptions, logs and hints are extension members. */
export function renderJson (report: ErrorReport): string {
  const { status, reason, exceptions, logs, logsOmitted, hints, raisedBy, controller, profile, request } = report
  // The path stays as the client sent it, unlike that of a parsed URL.
  const instance = /^[a-z][a-z\d+.-]*:\/\/[^/?#]*([^?#]+)/i.exec(request.url)?.[1]
  return safeJson({
    type: 'about:blank',
    title: reason,
    status,
    detail: headline(report),
    instance,
    exceptions,
    // Each context by itself: one that cannot be serialized must not replace the document.
    logs: logs.map((record) => ({ ...record, context: JSON.parse(safeJson(record.context)) as unknown })),
    logsOmitted: logsOmitted?.lines,
    hints,
    raisedBy,
    controller,
    profile
  }, 2).replaceAll('<', '\\u003c')
}
