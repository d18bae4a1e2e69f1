import { inspect } from 'node:util'
import type { FlattenedException } from '../errors/exception.js'
import type { ErrorReport, Hint } from '../errors/report.js'
import { mostSevere, type LogRecord } from '../logs/log-record.js'
import { cut, visible, visibleLine } from '../view/visible.js'
import { headline, lineCount, timeOfDay } from './shared.js'

const MAX_LOGS = 200
/** Characters. */
const MAX_LINE = 1_000

/** The report for a terminal: without markup, and without control sequences of the texts in it. */
export function renderText (report: ErrorReport): string {
  const total = report.exceptions.length
  const logs = mostSevere(report.logs, MAX_LOGS)
  const omitted = lineCount(report) - logs.length
  const lines = [...(omitted > 0 ? [`… ${omitted} more lines`] : []), ...logs.map(logLine)]
  return [
    block(`${report.status} ${visibleLine(report.reason)}`, visible(headline(report)), requestLines(report)),
    block(`Exceptions (${total})`, ...report.exceptions.map((exception, i) =>
      exceptionText(exception, `[${i + 1}/${total}] `))),
    block(`Logs (${lineCount(report)})`, lines.join('\n') || 'No line was logged.'),
    ...report.hints.map(hintText)
  ].join('\n\n') + '\n'
}

/** A log record on one line. */
export function logLine ({ time, level, channel, message, context }: LogRecord): string {
  const fields = Object.keys(context).length === 0
    ? ''
    : ` ${inspect(context, { depth: 3, breakLength: Infinity, maxArrayLength: 20, maxStringLength: 300 })}`
  const line = `${timeOfDay(time)} ${level.toUpperCase().padEnd(5)} [${channel}] ${message}${fields}`
  return visibleLine(cut(line, MAX_LINE))
}

function requestLines ({ request: { method, url, ip, headers }, raisedBy, controller, profile }: ErrorReport): string {
  return [
    `${method} ${url}`,
    `from ${ip}`,
    ...(raisedBy ? [`raised by ${raisedBy.listener} in ${raisedBy.stage}`] : []),
    ...(controller ? [`handled by ${controller.name}`, `defined at ${controller.source ?? '-'}`] : []),
    ...(profile ? [`profile ${profile.url}`] : []),
    ...headers.map(([name, value]) => `${name}: ${value}`)
  ].map((line) => visibleLine(cut(line, MAX_LINE))).join('\n')
}

function exceptionText (exception: FlattenedException, position: string): string {
  const { frames, stack, errors = [], framesDropped, note } = exception
  const members = errors.flatMap((chain, i) => chain.map((member, j) =>
    indent(exceptionText(member, `(${i + 1}) [${j + 1}/${chain.length}] `))))
  return [
    visible(position + (stack || `${exception.name}: ${exception.message}`)),
    ...(framesDropped ? [`    … ${framesDropped} more frames after the first ${frames.length}`] : []),
    ...(note === undefined ? [] : [note]),
    ...members
  ].join('\n')
}

function hintText ({ title, text, routes = [], code }: Hint): string {
  const near = routes.map(({ methods, pattern, why }) => visibleLine(`  ${methods.join(', ')} ${pattern}: ${why}`))
  const source = code === undefined ? '' : indent(visible(code))
  return block(`Hint: ${visibleLine(title)}`, visible(text), near.join('\n'), source)
}

function block (title: string, ...parts: string[]): string {
  return [`${title}\n${'='.repeat(title.length)}`, ...parts.filter((part) => part !== '')].join('\n\n')
}

function indent (text: string): string {
  return text.replace(/^/gm, '    ')
}
