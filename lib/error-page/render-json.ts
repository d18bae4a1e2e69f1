import { foremost } from '../logs/foremost.js'
import { safeJson } from '../view/json.js'
import { MAX_LOGS, type ErrorReport } from '../errors/report.js'
import { headline, lineCount } from './shared.js'

/** The report as a problem document (RFC 9457) with the chain, the logs and the hints as its extensions. */
export function renderJson (report: ErrorReport): string {
  const logs = foremost(report.logs, MAX_LOGS)
  const instance = pathOf(report.request.url)
  const document = {
    type: 'about:blank',
    title: report.reason,
    status: report.status,
    detail: headline(report),
    ...(instance !== '' && { instance }),
    exceptions: report.exceptions,
    // A context is whatever was logged: each is made JSON by itself, so that one of them cannot spoil the rest.
    logs: logs.map((record) => ({ ...record, context: JSON.parse(safeJson(record.context)) as unknown })),
    ...(logs.length < lineCount(report) && { logsOmitted: lineCount(report) - logs.length }),
    hints: report.hints,
    ...(report.raisedBy && { raisedBy: report.raisedBy }),
    ...(report.controller && { controller: report.controller }),
    ...(report.profile && { profile: report.profile })
  }
  return safeJson(document, 2).replaceAll('<', '\\u003c')
}

// Cut out of the text rather than parsed: the path stays as the client sent it.
function pathOf (url: string): string {
  return /^[a-z][a-z\d+.-]*:\/\/[^/?#]*([^?#]*)/i.exec(url)?.[1] ?? ''
}
