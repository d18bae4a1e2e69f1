import { inspect } from 'node:util'
import { foremost } from '../logs/foremost.js'
import { cut, visible, visibleLine } from '../view/visible.js'
import type { LogRecord } from '../logs/log-record.js'
import type { FlattenedException } from '../errors/exception.js'
import type { ErrorReport } from '../errors/report.js'
import { headline, lineCount, timeOfDay } from './shared.js'

const MAX_LOGS = 200
const MAX_LINE = 1_000

/** The report for a terminal: no markup, and no control sequence of whatever it quotes. */
export function renderText (report: ErrorReport): string {
  const total = report.exceptions.length
  const logs = foremost(report.logs, MAX_LOGS)
  const omitted = lineCount(report) - logs.length
  return [
    block(`${report.status} ${visibleLine(report.reason)}`, visible(headline(report)), requestLines(report)),
    block(`Exceptions (${total})`, ...report.exceptions.map((exception, i) => exceptionText(exception, `[${i + 1}/${total}] `))),
    block(
      `Logs (${lineCount(report)})`,
      [...(omitted > 0 ? [`… ${omitted} more lines`] : []), ...logs.map(logLine)].join('\n') || 'No line was logged.'
    ),
    ...report.hints.map((hint) => block(
      `Hint: ${visibleLine(hint.title)}`, visible(hint.text),
      (hint.routes ?? []).map(({ methods, pattern, why }) => `  ${visibleLine(`${methods.join(', ')} ${pattern}: ${why}`)}`).join('\n'), ...(hint.code === undefined ? [] : [indent(visible(hint.code))])
    ))
  ].join('\n\n') + '\n'
}

/** A record on one line. */
export function logLine (record: LogRecord): string {
  const context = contextText(record.context)
  const level = record.level.toUpperCase().padEnd(5)
  return visibleLine(cut(`${timeOfDay(record.time)} ${level} [${record.channel}] ${record.message}${context}`, MAX_LINE))
}

// Lines that say the same have the same context.
const inspected = new WeakMap<object, string>()

function contextText (context: LogRecord['context']): string {
  if (Object.keys(context).length === 0) return ''
  const known = inspected.get(context)
  if (known !== undefined) return known
  const text = ` ${inspect(context, { depth: 3, breakLength: Infinity, maxArrayLength: 20, maxStringLength: 300 })}`
  inspected.set(context, text)
  return text
}

function requestLines (report: ErrorReport): string {
  const { method, url, ip, headers } = report.request
  return [
    `${method} ${url}`,
    `from ${ip}`,
    ...(report.raisedBy ? [`raised by ${report.raisedBy.listener} in ${report.raisedBy.stage}`] : []),
    ...(report.controller ? [`handled by ${report.controller.name}`, `defined at ${report.controller.source ?? '-'}`] : []),
    ...(report.profile ? [`profile ${report.profile.url}`] : []),
    ...headers.map(([name, value]) => `${name}: ${value}`)
  ].map((line) => visibleLine(cut(line, MAX_LINE))).join('\n')
}

function exceptionText (exception: FlattenedException, position: string): string {
  const { frames, stack, errors = [], framesDropped, note } = exception
  const members = errors.map((chain, i) => chain
    .map((member, j) => indent(exceptionText(member, `(${i + 1}) [${j + 1}/${chain.length}] `)))
    .join('\n'))
  return [
    visible(position + (stack || `${exception.name}: ${exception.message}`)),
    ...(framesDropped ? [`    … ${framesDropped} more frames behind the first ${frames.length}`] : []),
    ...(note === undefined ? [] : [note]),
    ...members
  ].join('\n')
}

function block (title: string, ...parts: string[]): string {
  return [`${title}\n${'='.repeat(title.length)}`, ...parts.filter((part) => part !== '')].join('\n\n')
}

function indent (text: string): string {
  return text.replace(/^/gm, '    ')
}
