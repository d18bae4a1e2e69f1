import { parsedJson } from '../call.js'
import { formatCount, isObject } from '../view/text.js'
import type { StackFrame } from './exception.js'
import { isAppFile } from './stack-frame.js'

/** What EJS, Eta and Pug put before a message: the place in the template, and the lines around it. */
const EXCERPT = /^((?:[A-Z]:)?[\\/][^\n]+?):(\d+)(?::(\d+))?\n(?:[ >]+\d+\|[^\n]*\n|-*\^\n)+\s*/i
const TEMPLATE = '(template)'
/** Characters before the message. */
const MAX_EXCERPT = 20_000
/** Of included templates. */
const MAX_TEMPLATES = 10
const MAX_ISSUES = 5

/** A message in words, and the places in templates that it has named, innermost first. */
export function readMessage (message: string): { text: string, frames: StackFrame[] } {
  const frames: StackFrame[] = []
  let text = message
  while (frames.length < MAX_TEMPLATES) {
    const [excerpt, file = '', line, column = '0'] = EXCERPT.exec(text.slice(0, MAX_EXCERPT)) ?? []
    if (excerpt === undefined) break
    frames.unshift({ file, line: Number(line), column: Number(column), function: TEMPLATE, own: isAppFile(file) })
    text = text.slice(excerpt.length)
  }
  return { text: issuesText(text) ?? text, frames }
}

/** Whether a frame is a place in a template that a message has named. */
export function isTemplate (frame: StackFrame): boolean {
  return frame.function === TEMPLATE
}

/** The issues that zod writes as JSON; undefined for another message. */
function issuesText (message: string): string | undefined {
  if (!message.startsWith('[')) return undefined
  const issues = parsedJson(message)
  if (!Array.isArray(issues) || issues.length === 0 || !issues.every(isIssue)) return undefined
  const texts = issues.slice(0, MAX_ISSUES).map(({ path, message }) =>
    [path.join('.'), message].filter((text) => text !== '').join(': '))
  const more = issues.length - texts.length
  return texts.join('; ') + (more > 0 ? `; and ${formatCount(more, 'more issue')}` : '')
}

function isIssue (value: unknown): value is { path: unknown[], message: string } {
  return isObject(value) && Array.isArray(value.path) && typeof value.message === 'string'
}
