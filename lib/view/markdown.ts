import { cut, visible, visibleLine } from './visible.js'

const MAX_CODE = 1_000

/** Escapes text for one line of Markdown. */
export function escapeMarkdown (text: string): string {
  return visibleLine(text).replace(/[\\`*_[\]<>&|~#$]/g, '\\$&')
}

/** A fenced code block. The fence is longer than any run of backticks in the text, so that no text can close it. */
export function fence (text: string, language: string): string {
  const content = visible(text)
  const marks = '`'.repeat(Math.max(3, longestRun(content) + 1))
  return `${marks}${language}\n${content}\n${marks}`
}

/** A code span. */
export function code (text: string): string {
  const content = visibleLine(cut(text, MAX_CODE))
  const marks = '`'.repeat(longestRun(content) + 1)
  const padding = /^[` ]|[` ]$/.test(content) ? ' ' : ''
  return `${marks}${padding}${content}${padding}${marks}`
}

function longestRun (text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0)
}
