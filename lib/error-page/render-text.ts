import { extname } from 'node:path'
import { inspect } from 'node:util'
import type { FlattenedException, StackFrame } from '../errors/exception.js'
import type { ErrorReport, Hint } from '../errors/report.js'
import { placeOf } from '../errors/stack-frame.js'
import { isNotification, mostSevere, type LogRecord } from '../logs/log-record.js'
import { counted } from '../view/counted.js'
import { code, escapeMarkdown, fence } from '../view/markdown.js'
import { cut, timeOfDay, visible, visibleLine } from '../view/visible.js'
import { chainLines, headline, logCounts, shownCause, shownSource } from './report-facts.js'

const MAX_FRAMES = 8
const MAX_EXCERPTS = 3
const MAX_LOGS = 12
/** Levels of nested AggregateErrors. */
const MAX_DEPTH = 2
/** Characters. */
const MAX_TITLE = 500
const MAX_MESSAGE = 4_000
const MAX_LINE = 1_000
const LANGUAGE = /^\.[cm]?(js|ts)x?$/

/** How the parts of a report are written. Each function escapes what it is given. */
export interface TextFormat {
  heading: (level: number, text: string) => string
  /** Prose on one line. */
  prose: (text: string) => string
  strong: (text: string) => string
  /** A path, a URL or the like within prose. */
  code: (text: string) => string
  /** Several lines of code or data. */
  block: (text: string, language: string) => string
  item: (text: string) => string
}

export const MARKDOWN: TextFormat = {
  heading: (level, text) => `${'#'.repeat(level)} ${escapeMarkdown(text)}`,
  prose: escapeMarkdown,
  strong: (text) => `**${escapeMarkdown(text)}**`,
  code,
  block: fence,
  item: (text) => `- ${text}`
}

/** For a terminal: without markup, and without control sequences of the texts. */
export const PLAIN: TextFormat = {
  heading: (level, text) => level > 2 ? visibleLine(text) : visibleLine(text) + '\n' + '='.repeat(text.length),
  prose: visibleLine,
  strong: visibleLine,
  code: visibleLine,
  block: (text) => visible(text).replace(/^/gm, '    '),
  item: (text) => `  ${text}`
}

/** The report as one screen of text, for a terminal, an issue, a chat or a language model. */
export function renderText (report: ErrorReport, format: TextFormat): string {
  const { status, reason, request, exceptions, raisedBy, controller, profile, hints, summary } = report
  const { heading, prose, strong, code, block } = format
  const definedAt = controller?.source == null ? '' : ` at ${code(controller.source)}`
  const source = shownSource(report)
  const shown = new Set(source === null ? [] : [placeOf(source.frame)])
  return [
    heading(1, cut(headline(report), MAX_TITLE)),
    `${strong(`${status} ${reason}`)} · ${code(`${request.method} ${request.url}`)}`,
    ...causeParts(report, format),
    ...(summary === undefined ? [] : [prose(summary)]),
    ...inputParts(report, format),
    ...(source === null
      ? []
      : [`${prose(source.title)}: ${code(placeOf(source.frame))}`, excerptBlock(source.frame, format)]),
    ...hints.flatMap((hint) => hintParts(hint, format)),
    ...(raisedBy ? [`Raised by ${code(raisedBy.listener)} in ${code(raisedBy.stage)}.`] : []),
    ...(controller ? [`Handled by ${code(controller.name)}${definedAt}.`] : []),
    ...(profile ? [`Profile: ${code(profile.url)}`] : []),
    heading(2, 'Exceptions'),
    ...exceptions.flatMap((exception, i) =>
      exceptionParts(exception, `[${i + 1}/${exceptions.length}]`, format, 0, shown)),
    heading(2, 'Request'),
    block(requestText(report), 'http'),
    heading(2, 'Last log lines'),
    logText(report, format)
  ].join('\n\n') + '\n'
}

/** The class of the root cause, and the errors that it was rethrown as. */
function causeParts (report: ErrorReport, { prose, strong, code, item }: TextFormat): string[] {
  const root = shownCause(report)
  if (root === null) return []
  const facts = [root.code, root.members].filter((fact) => fact !== undefined).map((fact) => ` · ${prose(fact)}`)
  const chain = chainLines(report).slice(0, MAX_FRAMES).map(({ before, frame, index }) => {
    const { name, message } = report.exceptions[index] as FlattenedException
    const place = frame === undefined ? '' : ` ${code(placeOf(frame))} as`
    return item(`${before}${place} ${prose(cut(`${name}: ${message}`, MAX_TITLE))}`)
  })
  return [strong(root.name) + facts.join(''), ...(chain.length === 0 ? [] : [chain.join('\n')])]
}

function inputParts ({ input }: ErrorReport, { prose, code, block, item }: TextFormat): string[] {
  const { part = '', fields = [], malformed } = input ?? {}
  if (malformed !== undefined) {
    const { line, column, excerpt } = malformed
    const place = prose(`Invalid JSON at line ${line}, column ${column} of the ${part}.`)
    return excerpt === undefined ? [place] : [place, block(excerpt.lines.join('\n'), 'text')]
  }
  const rows = fields.map(({ field, received, rule, expected }) =>
    item(`${code(`${part}.${field}`)}: ${received === undefined ? 'missing' : `received ${code(received)}`}, ` +
      `rule ${code(rule)}, expected ${prose(expected)}`))
  return rows.length === 0 ? [] : [rows.join('\n')]
}

/** The paragraphs of a hint. */
export function hintParts ({ title, text, routes = [], code: source }: Hint, format: TextFormat): string[] {
  const { heading, prose, code, block, item } = format
  return [
    heading(2, `Hint: ${title}`),
    prose(text),
    ...routes.map(({ methods, pattern, why, source: place }) => item(
      `${code(`${methods.join(', ')} ${pattern}`)}: ${prose(why)}${place === undefined ? '' : ` (${code(place)})`}`
    )),
    ...(source === undefined ? [] : [block(source, 'ts')])
  ]
}

/**
 * The paragraphs of an exception at a position of its chain; `depth` counts the AggregateErrors around it, `shown` has
 * the places whose source is shown already.
 */
export function exceptionParts (
  exception: FlattenedException, position: string, format: TextFormat, depth = 0, shown = new Set<string>()
): string[] {
  const { name, message, frames, errors = [], note } = exception
  const { heading, prose, code, block, item } = format
  const members = depth < MAX_DEPTH ? errors : []
  const own = frames.filter((frame) => frame.own)
  const listed = (own.length > 0 ? own : frames).slice(0, MAX_FRAMES)
  const calls = listed.map((frame) => item(code(`${frame.function} (${placeOf(frame)})`)))
  const excerpts = listed.filter((frame) => frame.excerpt && !shown.has(placeOf(frame))).slice(0, MAX_EXCERPTS)
  for (const frame of excerpts) shown.add(placeOf(frame))
  return [
    heading(3 + depth, `${position} ${name}`),
    ...(message === '' ? [] : [block(cut(message, MAX_MESSAGE), 'text')]),
    ...(note === undefined ? [] : [prose(note)]),
    ...(calls.length === 0 ? [] : [calls.join('\n')]),
    ...excerpts.flatMap((frame) => [code(placeOf(frame)), excerptBlock(frame, format)]),
    ...members.flatMap((chain, i) => chain.flatMap((member, j) =>
      exceptionParts(member, `${position} error ${i + 1}, [${j + 1}/${chain.length}]`, format, depth + 1, shown)))
  ]
}

function excerptBlock ({ excerpt, file, line }: StackFrame, { block }: TextFormat): string {
  const { start, lines } = excerpt ?? { start: 0, lines: [] }
  const width = String(start + lines.length).length
  const numbered = lines.map((text, i) => {
    const number = start + i
    return `${number === line ? '>' : ' '} ${String(number).padStart(width)} | ${text}`
  })
  return block(numbered.join('\n'), LANGUAGE.exec(extname(file))?.[1] ?? 'text')
}

function requestText ({ request: { method, url, headers } }: ErrorReport): string {
  const lines = headers.map(([name, value]) => cut(`${name}: ${value}`, MAX_TITLE))
  return [cut(`${method} ${url}`, MAX_LINE), ...lines].map(visibleLine).join('\n')
}

function logText (report: ErrorReport, { prose, block }: TextFormat): string {
  const shown = mostSevere(report.logs.filter((line) => !isNotification(line)), MAX_LOGS)
  if (shown.length === 0) return prose('No log messages.')
  const left = logCounts(report).lines - shown.length
  return block([...(left > 0 ? [`… ${counted(left, 'more line')}`] : []), ...shown.map(logLine)].join('\n'), 'text')
}

/** A log record on one line. */
export function logLine ({ time, level, channel, message, context }: LogRecord): string {
  const fields = Object.keys(context).length === 0
    ? ''
    : ` ${inspect(context, { depth: 3, breakLength: Infinity, maxArrayLength: 20, maxStringLength: 300 })}`
  const line = `${timeOfDay(time)} ${level.toUpperCase().padEnd(5)} [${channel}] ${message}${fields}`
  return visibleLine(cut(line, MAX_LINE))
}
