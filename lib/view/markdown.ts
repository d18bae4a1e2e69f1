import { cut, visible, visibleLine } from './visible.js'

const MAX_CODE = 1_000

/** Text on one line of Markdown that stays text, whatever it holds. */
export function escapeMarkdown (text: string): string {
  return visibleLine(text).replace(/[\\`*_[\]<>&|~#$]/g, '\\$&')
}

/** A block that shows text as it is: its fence is longer than any in the text, so that nothing in it can close it. */
export function fence (text: string, language: string): string {
  const content = visible(text)
  const marks = '`'.repeat(Math.max(3, longestRun(content) + 1))
  return `${marks}${language}\n${content}\n${marks}`
}

/** The same within a line. */
export function code (text: string): string {
  const content = visibleLine(cut(text, MAX_CODE))
  const marks = '`'.repeat(longestRun(content) + 1)
  const padding = /^[` ]|[` ]$/.test(content) ? ' ' : ''
  return `${marks}${padding}${content}${padding}${marks}`
}

function longestRun (text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0)
}
