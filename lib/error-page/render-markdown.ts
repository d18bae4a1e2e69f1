import { extname } from 'node:path'
import type { FlattenedException, StackFrame } from '../errors/exception.js'
import type { ErrorReport, Hint } from '../errors/report.js'
import { mostSevere } from '../logs/log-record.js'
import { code, escapeMarkdown, fence } from '../view/markdown.js'
import { cut, visibleLine } from '../view/visible.js'
import { logLine } from './render-text.js'
import { headline, place } from './shared.js'

const MAX_FRAMES = 8
const MAX_EXCERPTS = 3
const MAX_LOGS = 12
/** Levels of nested AggregateErrors. */
const MAX_DEPTH = 2
/** Characters. */
const MAX_MESSAGE = 4_000
const LANGUAGE = /^\.[cm]?(js|ts)x?$/

/** The report as one screen of Markdown, for an issue, a chat or a language model. */
export function renderMarkdown (report: ErrorReport): string {
  const { exceptions, raisedBy, controller, profile, logs } = report
  const definedAt = controller?.source == null ? '' : ` at ${code(controller.source)}`
  return [
    `# ${escapeMarkdown(cut(headline(report), 500))}`,
    `**${report.status} ${escapeMarkdown(report.reason)}** · ${code(`${report.request.method} ${report.request.url}`)}`,
    ...(raisedBy ? [`Raised by ${code(raisedBy.listener)} in ${code(raisedBy.stage)}.`] : []),
    ...(controller ? [`Handled by ${code(controller.name)}${definedAt}.`] : []),
    ...(profile ? [`Profile: ${code(profile.url)}`] : []),
    '## Exceptions',
    ...exceptions.flatMap((exception, i) => exceptionParts(exception, `[${i + 1}/${exceptions.length}]`, 0)),
    '## Request',
    fence(requestText(report), 'http'),
    '## Last log lines',
    logs.length === 0 ? 'No line was logged.' : fence(mostSevere(logs, MAX_LOGS).map(logLine).join('\n'), 'text'),
    ...report.hints.flatMap(hintParts)
  ].join('\n\n') + '\n'
}

/** The paragraphs of a hint. */
export function hintParts ({ title, text, routes = [], code: source }: Hint): string[] {
  return [
    `## Hint: ${escapeMarkdown(title)}`,
    escapeMarkdown(text),
    ...routes.map(({ methods, pattern, why }) =>
      `- ${code(`${methods.join(', ')} ${pattern}`)}: ${escapeMarkdown(why)}`),
    ...(source === undefined ? [] : [fence(source, 'ts')])
  ]
}

/** The paragraphs of an exception at a position of its chain; `depth` counts the AggregateErrors around it. */
export function exceptionParts (exception: FlattenedException, position: string, depth: number): string[] {
  const { name, message, frames, errors = [], note } = exception
  const members = depth < MAX_DEPTH ? errors : []
  const own = frames.filter((frame) => frame.own)
  const shown = (own.length > 0 ? own : frames).slice(0, MAX_FRAMES)
  return [
    `${'#'.repeat(3 + depth)} ${escapeMarkdown(position)} ${escapeMarkdown(name)}`,
    ...(message === '' ? [] : [fence(cut(message, MAX_MESSAGE), 'text')]),
    ...(note === undefined ? [] : [escapeMarkdown(note)]),
    ...(shown.length === 0 ? [] : [shown.map(callLine).join('\n')]),
    ...shown.filter((frame) => frame.excerpt).slice(0, MAX_EXCERPTS).map(excerptText),
    ...members.flatMap((chain, i) => chain.flatMap((member, j) =>
      exceptionParts(member, `${position} error ${i + 1}, [${j + 1}/${chain.length}]`, depth + 1)))
  ]
}

function callLine (frame: StackFrame): string {
  return `- ${code(`${frame.function} (${place(frame)})`)}`
}

function excerptText (frame: StackFrame): string {
  const { start, lines } = frame.excerpt ?? { start: 0, lines: [] }
  const width = String(start + lines.length).length
  const numbered = lines.map((line, i) => {
    const number = start + i
    return `${number === frame.line ? '>' : ' '} ${String(number).padStart(width)} | ${line}`
  })
  return `${code(place(frame))}\n\n${fence(numbered.join('\n'), LANGUAGE.exec(extname(frame.file))?.[1] ?? 'text')}`
}

function requestText ({ request: { method, url, headers } }: ErrorReport): string {
  const lines = headers.map(([name, value]) => cut(`${name}: ${value}`, 500))
  return [cut(`${method} ${url}`, 1_000), ...lines].map(visibleLine).join('\n')
}
