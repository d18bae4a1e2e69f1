import jsTokens, { type JSXToken, type Token } from 'js-tokens'
import { attemptCall } from '../call.js'
import {
  functionOf, type CallValues, type CodeExcerpt, type FlattenedException, type StackFrame
} from '../errors/exception.js'
import { sourceCache } from '../errors/source-file.js'
import { placeOf, shortFile } from '../errors/stack-frame.js'
import { formatCount, cutText, escapeHtml, html, SafeHtml, visibleLine, type HtmlValue } from '../view/text.js'
import { readAsset } from '../view/asset.js'
import type { EditorLink } from '../view/editor.js'
import { callText, everyException, fieldText, type MainSource } from './render-text.js'

export const style = readAsset(import.meta.url, './exceptions.css')

interface ExceptionsView {
  editor: EditorLink | null
  /** The places, as `file:line`, whose source the page has shown, and the calls that it has listed. */
  shown: Set<string>
  /** A message that the page has as its headline. */
  headline?: string | undefined
}

/** Characters; the whole message is in the stack trace. */
const MAX_MESSAGE = 4_000
/** Characters of the value of a variable; the JSON of the profile has more. */
const MAX_VALUE = 300
/** Characters of all stack traces, which share them, and that each has at least. */
const MAX_STACKS = 10_000
const MIN_STACK = 500
/** Characters of the line of source beside a frame. */
const MAX_LINE = 100
/** Lines before and after the line of a frame that is folded. */
const AROUND = 3
/** At least four words. */
const SENTENCE = /(?: \S+){3}/

/** The card of the frame where the failure happened, with its source and the variables of its calls. */
export function renderSource (
  { title, frame, values }: MainSource, editor: EditorLink | null
): SafeHtml {
  return html`<div class="where card${title !== 'In your code' && ' declared'}">
<h2>${title}: ${label(frame, editor)}</h2>
<div class="code">${renderExcerpt(frame)}
<div>${renderValues(values)}</div></div>
</div>`
}

/** The variables of calls; those of the first one are unfolded. */
export function renderValues (calls: readonly CallValues[]): HtmlValue {
  return calls.filter(({ variables }) => variables.length > 0).map((call, i) => {
    const variables = call.variables.map(({ name, value }) => html`<div><dt>${visibleLine(name)}</dt> \
<dd>${cutText(visibleLine(String(value)), MAX_VALUE)}</dd></div>
`)
    return html`<details class="call"${i === 0 && ' open'}><summary>Variables of <code>${visibleLine(callText(call))}\
</code></summary>
<dl class="values">${variables}</dl></details>`
  })
}

/** The section Exceptions: the chain, root cause first, each with its frames. */
export function renderExceptions (chain: readonly FlattenedException[], view: ExceptionsView): SafeHtml {
  return html`<section id="exceptions" aria-labelledby="exceptions-title">
<h2 id="exceptions-title">Exceptions <span class="count">${chain.length}</span></h2>
${renderChain(chain, view)}
</section>`
}

/** A chain of exceptions, root cause first; `level` is that of the headings. */
export function renderChain (chain: readonly FlattenedException[], view: ExceptionsView, level = 3): SafeHtml[] {
  const heading = `h${Math.min(level, 6)}`
  return chain.map((exception, i) => {
    const { name, message, code, statusCode, fields, values = [], errors = [], note } = exception
    const isAbove = values.some((call) => view.shown.has(valuesKey(call)))
    return html`<article class="exception card"${level === 3 && html` id="exception-${i + 1}"`}>
<header>
<${heading}>${positionOf(i, chain)}<span class="name">${name}</span>${relationOf(i, chain)}</${heading}>
${statusCode !== undefined && html`<span class="tag">status ${statusCode}</span>`}
${code !== undefined && html`<span class="tag">code ${code}</span>`}
${message !== view.headline && html`<p class="message">${cutText(message, MAX_MESSAGE) || '(no message)'}</p>`}
${renderFields(fields)}
${note !== undefined && html`<p class="note">${note}</p>`}
</header>
${renderFrames(exception, isAbove ? [] : values, view)}
${errors.length > 0 && renderMembers(errors, view, level + 1)}
</article>`
  })
}

/** The place of an exception in its chain. */
function positionOf (i: number, { length }: readonly FlattenedException[]): HtmlValue {
  return length > 1 && html`<span class="position">[${i + 1}/${length}]</span> `
}

function relationOf (i: number, chain: readonly FlattenedException[]): HtmlValue {
  const cause = chain[i - 1]
  const text = cause === undefined ? 'root cause' : `caused by ${visibleLine(cause.name)}`
  return chain.length > 1 && html` <span class="position">${text}</span>`
}

/** What the places that a page has shown have for the variables of a call. */
export function valuesKey (call: CallValues): string {
  return `variables of ${callText(call)}`
}

/** The properties of an error, such as `detail` and `hint`. */
export function renderFields (fields: Record<string, unknown> = {}): HtmlValue {
  const all = Object.entries(fields).map(([name, value]) => ({ name, value: fieldText(value) }))
  // Sentences, such as a hint, come first.
  const sentences = all.filter(({ value }) => SENTENCE.test(value))
  const others = all.filter((one) => !sentences.includes(one))
  return all.length > 0 && html`<dl class="fields">${[...sentences, ...others].map(({ name, value }) =>
    html`<div${SENTENCE.test(value) && html` class="sentence"`}><dt>${visibleLine(name)}</dt> <dd>${value}</dd></div>
`)}</dl>`
}

function renderMembers (errors: readonly FlattenedException[][], view: ExceptionsView, level: number): SafeHtml {
  const items = errors.map((chain) => html`<li>${renderChain(chain, view, level)}</li>`)
  return html`<details class="members" open><summary>${formatCount(errors.length, 'error')} inside</summary>
<ol>${items}</ol></details>`
}

/** The frames of an exception, those outside the application folded, and the variables below the source. */
function renderFrames (
  { frames }: FlattenedException, values: readonly CallValues[], view: ExceptionsView
): HtmlValue {
  const variables = renderValues(values)
  if (frames.length === 0) return [html`<p class="note none">No stack trace available.</p>`, variables]
  const isAbove = frames.some((frame) => frame.excerpt && view.shown.has(placeOf(frame)))
  const open = isAbove ? undefined : frames.find((frame) => frame.own && frame.excerpt)
  const groups: StackFrame[][] = []
  for (const frame of frames) {
    const group = groups.at(-1)
    if (group?.[0]?.own === frame.own) group.push(frame)
    else groups.push([frame])
  }
  const items = groups.map((group) => {
    if (group[0]?.own !== true) return vendorFrames(group, view)
    return group.map((frame) => html`<li class="own">${frameItem(frame, frame === open, view)}${
      frame === open && variables}</li>`)
  })
  return html`<ol class="frames">${items}</ol>${open === undefined && variables}`
}

/** Consecutive frames outside the application; if their first call is listed already, only their number. */
function vendorFrames (frames: readonly StackFrame[], view: ExceptionsView): SafeHtml {
  const count = formatCount(frames.length, 'vendor frame')
  const [first] = frames as [StackFrame]
  const call = `${first.function} ${placeOf(first)}`
  if (view.shown.has(call)) return html`<li class="fold"><p>${count} as above</p></li>`
  view.shown.add(call)
  return html`<li class="fold"><details><summary>${count}</summary>
<ol>${frames.map((frame) => html`<li>${frameItem(frame, false, view)}</li>`)}</ol></details></li>`
}

function frameItem (frame: StackFrame, open: boolean, { editor, shown }: ExceptionsView): SafeHtml {
  const { own, line, excerpt } = frame
  const place = own ? placeOf(frame) : ''
  const item = (rest: HtmlValue): SafeHtml => html`<div class="frame">${label(frame, editor)} ${rest}</div>`
  if (shown.has(place)) return item(html`<span class="above">shown above</span>`)
  if (excerpt === undefined) return item('')
  shown.add(place)
  const source = cutText(excerpt.lines[line - excerpt.start]?.trim() || 'Source', MAX_LINE)
  return item(html`<details${open && ' open'}><summary><code class="line">${source}</code></summary>
${renderExcerpt(frame, open ? undefined : AROUND)}</details>`)
}

/** The file of a frame and its function, where that has a name. */
function label (frame: StackFrame, editor: EditorLink | null): HtmlValue {
  const name = functionOf(frame)
  return [fileLink(frame, editor), name !== '' && html` <code>${visibleLine(name)}</code>`]
}

/** The file of a frame, with an editor as a link; the stack trace has the whole path. */
export function fileLink (frame: StackFrame, editor: EditorLink | null): SafeHtml {
  const { file, line, column } = frame
  const shown = fileMarkup(frame)
  const href = editor?.(file, line, column) ?? null
  if (href === null) return html`<span class="file">${shown}</span>`
  return html`<a class="file" href="${href}">${shown}</a>`
}

function fileMarkup ({ file, line, column }: StackFrame): HtmlValue {
  if (file === '') return '(no file)'
  const [, folder = '', name = ''] = /^(.*[\\/])?(.*)$/.exec(shortFile(file)) ?? []
  return html`${folder}<b>${name}</b>${line > 0 && `:${line}`}${line > 0 && column > 0 && `:${column}`}`
}

/** The section Stack Traces; `isOpen`: whether the trace of the error itself is unfolded. */
export function renderStackTraces (chain: readonly FlattenedException[], isOpen: boolean): SafeHtml {
  return html`<section id="stack-traces" aria-labelledby="stack-traces-title">
<h2 id="stack-traces-title">Stack Traces <span class="count">${everyException(chain).length}</span></h2>
${renderTraces(chain, isOpen)}
</section>`
}

/** One plain text for each exception. */
export function renderTraces (chain: readonly FlattenedException[], isOpen = false): SafeHtml[] {
  const exceptions = everyException(chain)
  const limit = Math.max(MIN_STACK, Math.floor(MAX_STACKS / exceptions.length))
  return exceptions.map(({ name, message, stack }, i, all) => html`<details class="trace card"${
    isOpen && i === all.length - 1 && ' open'}>
<summary><h3>${positionOf(i, all)}${name}</h3></summary>
<pre data-copy="Copy">${cutText(stack || `${name}: ${message}`, limit)}</pre>
</details>`)
}

/** The files that are highlighted; `<` begins an element in those that end in `x`. */
const SOURCE = /\.(?:[cm]?[jt]s|[jt]sx|json)$/i
const KEYWORDS = new Set([
  'as async await break case catch class const continue debugger default delete do else enum export extends false',
  'finally for from function if implements import in instanceof interface keyof let namespace new null of private',
  'protected public readonly return satisfies static super switch this throw true try type typeof undefined var void',
  'while with yield'
].join(' ').split(' '))

const cachedMarkup = sourceCache<SafeHtml>(500)

/** The source around a frame, at most `around` lines before and after, with its line marked; empty without source. */
export function renderExcerpt (frame: StackFrame, around = Infinity): HtmlValue {
  const { excerpt, file, line, column } = frame
  if (excerpt === undefined) return null
  return cachedMarkup(JSON.stringify([file, line, column, around, excerpt]), () => rowsOf(excerpt, frame, around))
}

function rowsOf (excerpt: CodeExcerpt, { file, line, column }: StackFrame, around: number): SafeHtml {
  const start = Math.max(excerpt.start, line - around)
  const lines = excerpt.lines.slice(start - excerpt.start, line - excerpt.start + around + 1)
  const mark = column > 0 ? { line: line - start, column } : null
  const rows = highlightLines(lines, file, mark).map((source, i) => {
    const number = start + i
    const text = html`<span class="source">${source}
</span>`
    if (number !== line) return html`<span><span class="number">${number}</span>${text}</span>`
    return html`<mark><span class="number"><span class="arrow">&rarr; </span>${number}</span>${text}</mark>`
  })
  return html`<pre class="excerpt"><code>${rows}</code></pre>`
}

/** A place in an excerpt: `line` is 0-based, `column` 1-based. */
interface Mark { line: number, column: number }

/**
 * The lines of an excerpt as markup: JavaScript and TypeScript are highlighted by classes, and the token at the mark
 * has the class `at`. Never throws: source is hostile, too.
 */
export function highlightLines (lines: readonly string[], file: string, mark: Mark | null): SafeHtml[] {
  const escaped = (): SafeHtml[] => lines.map((line) => html`${line}`)
  if (!SOURCE.test(file)) return escaped()
  // The types of the package have an overload for `true` only.
  const options = { jsx: /x$/i.test(file) } as { jsx: true }
  return attemptCall(() => highlightTokens(jsTokens(lines.join('\n'), options), mark), escaped)
}

type AnyToken = Token | JSXToken

function highlightTokens (tokens: Iterable<AnyToken>, mark: Mark | null): SafeHtml[] {
  const shown: string[] = ['']
  let column = 1
  let isMember = false
  for (const { type, value } of tokens) {
    const name = isMember ? '' : classOf(type, value)
    isMember = value === '.' || value === '?.'
    for (const [i, part] of value.split('\n').entries()) {
      if (i > 0) {
        shown.push('')
        column = 1
      }
      const line = shown.length - 1
      const isMarked = mark?.line === line && mark.column >= column && mark.column < column + part.length
      const classes = isMarked && type !== 'WhiteSpace' ? `${name} at`.trim() : name
      const escaped = escapeHtml(part)
      shown[line] += classes === '' || part === '' ? escaped : `<i class="${classes}">${escaped}</i>`
      column += part.length
    }
  }
  return shown.map((line) => new SafeHtml(line))
}

function classOf (type: AnyToken['type'], value: string): string {
  if (type.endsWith('Comment')) return 'c'
  switch (type) {
    case 'StringLiteral': case 'NoSubstitutionTemplate': case 'TemplateHead': case 'TemplateMiddle':
    case 'TemplateTail': case 'RegularExpressionLiteral': case 'JSXString': return 's'
    case 'NumericLiteral': return 'n'
    case 'JSXIdentifier': return 't'
    case 'IdentifierName':
      if (KEYWORDS.has(value)) return 'k'
      return /^\p{Lu}/u.test(value) ? 't' : ''
    default: return ''
  }
}
