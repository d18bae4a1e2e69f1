import type { CaughtError, CaughtLine } from '../../errors/caught-errors.js'
import { shortFile } from '../../errors/stack-frame.js'
import type { Profile } from '../../store/profile.js'
import { titledSection, noteText, withCode } from '../../view/components.js'
import type { EditorLink } from '../../view/editor.js'
import {
  codeSpan, cutText, escapeMarkdown, formatCount, html, oneLine, presentItems, type HtmlValue
} from '../../view/text.js'
import type { Part } from '../part.js'
import { dataOf, lineOf, listOf } from '../read.js'

/** Lines in the sentence of the overview. */
const MAX_LINES = 3
/** Variables of an error in a sentence: those of at most so many characters. Characters of a message. */
const MAX_VARIABLES = 3
const MAX_VALUE = 60
const MAX_MESSAGE = 120

/** The errors that were caught while the request ran. */
export const caughtErrors: Part = {
  name: 'caughtErrors',
  note (_, profile) {
    const { lines, count } = caughtIn(profile)
    if (lines.length === 0) return undefined
    const more = lines.length - MAX_LINES
    const texts = lines.slice(0, MAX_LINES).map(lineText)
    if (more > 0) texts.push(`and those of ${formatCount(more, 'more line')}`)
    return `${caughtTitle(count)}: ${texts.join('; ')}`
  },
  markdown (_, profile) {
    const { lines, note, count } = caughtIn(profile)
    if (lines.length === 0) return []
    const items = lines.map((line) => `- ${codeSpan(callText(line))} ${escapeMarkdown(errorsText(line))}`)
    const blocks = presentItems([`${caughtTitle(count)}.`, items.join('\n'), note])
    return [{ order: 12, title: 'Caught errors', blocks }]
  },
  comparison: []
}

/** How many they are. */
export function caughtCount (profile: Profile): number {
  return caughtIn(profile).count
}

/** The section of the panel Errors. */
export function caughtMarkup (profile: Profile, editor: EditorLink | null): HtmlValue {
  const { lines, note, count } = caughtIn(profile)
  if (lines.length === 0) return null
  const items = lines.map((line) => html`<li>${withCode(lineText(line), editor)}</li>`)
  return titledSection('Caught errors', html`<p>${caughtTitle(count)}. No response is about them.</p>
<ul>${items}</ul>${note !== undefined && noteText(note)}`)
}

function caughtIn (profile: Profile): { lines: CaughtLine[], note: string | undefined, count: number } {
  const { lines, note, count } = dataOf(profile, 'caughtErrors')
  return {
    lines: listOf(lines) as unknown as CaughtLine[],
    note: typeof note === 'string' ? note : undefined,
    count: typeof count === 'number' ? count : 0
  }
}

function caughtTitle (count: number): string {
  return formatCount(count, 'error was caught', 'errors were caught')
}

/** Such as `load` (src/shop.js:47) Error: connection refused, id = 42. */
function lineText (line: CaughtLine): string {
  const name = line.function === '' ? '' : `\`${line.function}\` `
  return `${name}(${shortFile(lineOf(line.source))}) ${errorsText(line)}`
}

function callText (line: CaughtLine): string {
  return `${line.function} (${shortFile(lineOf(line.source))})`.trim()
}

/** The first errors of a line, equal ones once, and how many there are besides. */
function errorsText ({ errors, count }: CaughtLine): string {
  const texts = [...new Set(listOf(errors).map((error) => errorText(error as unknown as CaughtError)))]
  if (count === 1) return texts.join()
  if (texts.length === 1) return `${texts.join()}, ${formatCount(count, 'time')}`
  const more = count - errors.length
  return presentItems([...texts, more > 0 && formatCount(more, 'more error')]).join(', and ')
}

function errorText ({ name, message, values }: CaughtError): string {
  const text = oneLine([name, cutText(message, MAX_MESSAGE)].filter(Boolean).join(': ')).replace(/\.$/, '')
  const shown = listOf(values).filter(({ value }) => String(value).length <= MAX_VALUE).slice(0, MAX_VARIABLES)
    .map(({ name, value }) => `${String(name)} = ${String(value)}`)
  return [text, ...shown].join(', ')
}
