import { visibleLine } from './visible.js'

/** Text on one line of Markdown that stays text, whatever it holds. */
export function escapeMarkdown (text: string): string {
  return visibleLine(text).replace(/[\\`*_[\]<>&|~#$]/g, '\\$&')
}
