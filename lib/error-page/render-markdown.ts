import { extname } from 'node:path'
import { foremost } from '../logs/foremost.js'
import { code, escapeMarkdown, fence } from '../view/markdown.js'
import { cut, visibleLine } from '../view/visible.js'
import type { FlattenedException, StackFrame } from '../errors/exception.js'
import type { ErrorReport, Hint } from '../errors/report.js'
import { OfChain } from './of-chain.js'
import { logLine } from './render-text.js'
import { headline, place } from './shared.js'

const MAX_FRAMES = 8
const MAX_EXCERPTS = 3
const MAX_LOGS = 12
const MAX_DEPTH = 2
const LANGUAGE = /^\.[cm]?(js|ts)x?$/

/** The report as a screen of Markdown: to paste into an issue or a chat, or for a program that reads it. */
export function renderMarkdown (report: ErrorReport): string {
  return markdownParts(report).flat().join('\n\n') + '\n'
}

/** A paragraph, or those of frames that come again, which are the same array then. */
export type MarkdownPart = string | readonly string[]

/** The paragraphs of it. */
export function markdownParts (report: ErrorReport): MarkdownPart[] {
  return [
    `# ${escapeMarkdown(cut(headline(report), 500))}`,
    `**${report.status} ${escapeMarkdown(report.reason)}** · ${code(`${report.request.method} ${report.request.url}`)}`,
    ...remarks(report),
    '## Exceptions',
    ...knownChains.get(report.exceptions, null, () => [chainParts(report.exceptions).flat()]) ?? chainParts(report.exceptions),
    '## Request',
    fence(requestText(report), 'http'),
    '## Last log lines',
    report.logs.length === 0 ? 'No line was logged.' : fence(foremost(report.logs, MAX_LOGS).map(logLine).join('\n'), 'text'),
    ...report.hints.flatMap(hintParts)
  ]
}

/** What is told of a remark that helps. */
export function hintParts (hint: Hint): string[] {
  return [
    `## Hint: ${escapeMarkdown(hint.title)}`, escapeMarkdown(hint.text),
    ...(hint.routes ?? []).map(({ methods, pattern, why }) => `- ${code(`${methods.join(', ')} ${pattern}`)}: ${escapeMarkdown(why)}`),
    ...(hint.code === undefined ? [] : [fence(hint.code, 'ts')])
  ]
}

const knownChains = new OfChain<MarkdownPart[]>()

function chainParts (chain: readonly FlattenedException[]): MarkdownPart[] {
  return chain.flatMap((exception, i) => exceptionParts(exception, `[${i + 1}/${chain.length}]`, 0))
}

function remarks (report: ErrorReport): string[] {
  return [
    ...(report.raisedBy ? [`Raised by ${code(report.raisedBy.listener)} in ${code(report.raisedBy.stage)}.`] : []),
    ...(report.controller ? [`Handled by ${code(report.controller.name)}${at(report.controller.source)}.`] : []),
    ...(report.profile ? [`Profile: ${code(report.profile.url)}`] : [])
  ]
}

function at (source: string | null): string {
  return source === null ? '' : ` at ${code(source)}`
}

/** What is told of one exception of a chain, at its position in it. */
export function exceptionParts (exception: FlattenedException, position: string, depth: number): MarkdownPart[] {
  const { name, message, frames, errors = [], note } = exception
  const members = depth < MAX_DEPTH ? errors : []
  return [
    `${'#'.repeat(3 + depth)} ${escapeMarkdown(position)} ${escapeMarkdown(name)}`,
    ...(message === '' ? [] : [fence(cut(message, 4_000), 'text')]),
    ...(note === undefined ? [] : [escapeMarkdown(note)]),
    frameParts(frames),
    ...members.flatMap((chain, i) => chain.flatMap((member, j) => exceptionParts(
      member, `${position} error ${i + 1}, [${j + 1}/${chain.length}]`, depth + 1
    )))
  ]
}

// The frames of a stack that was seen before are the same array: what they read is written once.
const written = new WeakMap<readonly StackFrame[], string[]>()

function frameParts (frames: readonly StackFrame[]): readonly string[] {
  const known = written.get(frames)
  if (known !== undefined) return known
  const own = frames.filter((frame) => frame.own)
  const shown = (own.length > 0 ? own : frames).slice(0, MAX_FRAMES)
  const parts = [
    ...(shown.length === 0 ? [] : [shown.map((frame) => `- ${code(`${frame.function} (${place(frame)})`)}`).join('\n')]),
    ...shown.filter((frame) => frame.excerpt).slice(0, MAX_EXCERPTS).map(excerptText)
  ]
  written.set(frames, parts)
  return parts
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

function requestText ({ request }: ErrorReport): string {
  const headers = request.headers.map(([name, value]) => visibleLine(cut(`${name}: ${value}`, 500)))
  return [visibleLine(cut(`${request.method} ${request.url}`, 1_000)), ...headers].join('\n')
}
