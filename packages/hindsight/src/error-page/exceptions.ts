import jsTokens, { type JSXToken, type Token } from 'js-tokens'
import { attempt } from '../call.js'
import { functionOf, type CodeExcerpt, type FlattenedException, type StackFrame } from '../errors/exception.js'
import { sourceCache } from '../errors/source-file.js'
import { placeOf, shortFile } from '../errors/stack-frame.js'
import { counted, cut, html, text, visibleLine } from '../view/text.js'
import { readAsset } from '../view/asset.js'
import type { EditorLink } from '../view/editor.js'
import { everyException, fieldText } from './render-text.js'

export const style = readAsset(import.meta.url, './exceptions.css')

interface ExceptionsView {
  editor: EditorLink | null
  /** The places, as `file:line`, whose source the page has shown, and the calls that it has listed. */
  shown: Set<string>
}

/** Characters; the whole message is in the stack trace. */
const MAX_MESSAGE = 4_000
/** Characters of all stack traces, which share them, and that each has at least. */
const MAX_STACKS = 10_000
const MIN_STACK = 500
/** Characters of the line of source beside a frame. */
const MAX_LINE = 100
/** Lines before and after the line of a frame that is folded. */
const AROUND = 3
/** At least four words. */
const SENTENCE = /(?: \S+){3}/

/** The card of the frame where the failure happened, with its source. */
export function renderSource (title: string, frame: StackFrame, editor: EditorLink | null): string {
  return html`<div class="where card">
<h2>${title}: !${label(frame, editor)}</h2>
!${renderExcerpt(frame)}
</div>`
}

/** The section Exceptions: the chain, root cause first, each with its frames. */
export function renderExceptions (chain: readonly FlattenedException[], view: ExceptionsView): string {
  return html`<section id="exceptions" aria-labelledby="exceptions-title">
<h2 id="exceptions-title">Exceptions <span class="count">${chain.length}</span></h2>
!${renderChain(chain, view)}
</section>`
}

/** A chain of exceptions, root cause first; `level` is that of the headings. */
export function renderChain (chain: readonly FlattenedException[], view: ExceptionsView, level = 3): string {
  const heading = `h${Math.min(level, 6)}`
  return chain.map((exception, i) => {
    const { name, message, code, statusCode, fields, errors = [], note } = exception
    return html`<article class="exception card"!${level === 3 ? ` id="exception-${i + 1}"` : ''}>
<header>
<!${heading}><span class="position">[${i + 1}/${chain.length}]</span> <span class="name">${name}</span></!${heading}>
!${statusCode === undefined ? '' : html`<span class="tag">status ${statusCode}</span>`}
!${code === undefined ? '' : html`<span class="tag">code ${code}</span>`}
<p class="message">${cut(message, MAX_MESSAGE) || '(no message)'}</p>
!${renderFields(fields)}
!${note === undefined ? '' : html`<p class="note">${note}</p>`}
</header>
!${renderFrames(exception, view)}
!${errors.length === 0 ? '' : renderMembers(errors, view, level + 1)}
</article>`
  }).join('')
}

/** The own properties of an error, such as `detail` and `hint`. */
export function renderFields (fields: Record<string, unknown> = {}): string {
  const all = Object.entries(fields).map(([name, value]) => ({ name, value: fieldText(value) }))
  // Sentences, such as a hint, come first.
  const sentences = all.filter(({ value }) => SENTENCE.test(value))
  const row = ({ name, value }: { name: string, value: string }): string =>
    html`<div!${SENTENCE.test(value) ? ' class="sentence"' : ''}><dt>${visibleLine(name)}</dt> <dd>${value}</dd></div>
`
  return all.length === 0
    ? ''
    : html`<dl class="fields">!${
    [...sentences, ...all.filter((one) => !sentences.includes(one))].map(row)}</dl>`
}

function renderMembers (errors: readonly FlattenedException[][], view: ExceptionsView, level: number): string {
  const items = errors.map((chain) => `<li>${renderChain(chain, view, level)}</li>`)
  return html`<details class="members" open><summary>${counted(errors.length, 'error')} inside</summary>
<ol>!${items}</ol></details>`
}

/** The frames of an exception. Those outside the application are folded. */
function renderFrames ({ frames }: FlattenedException, view: ExceptionsView): string {
  if (frames.length === 0) return '<p class="note none">No stack trace available.</p>'
  const isAbove = frames.some((frame) => frame.excerpt && view.shown.has(placeOf(frame)))
  const open = isAbove ? undefined : frames.find((frame) => frame.own && frame.excerpt)
  const groups: StackFrame[][] = []
  for (const frame of frames) {
    const group = groups.at(-1)
    if (group?.[0]?.own === frame.own) group.push(frame)
    else groups.push([frame])
  }
  const items = groups.map((group) => group[0]?.own === true
    ? group.map((frame) => `<li class="own">${frameItem(frame, frame === open, view)}</li>`).join('')
    : vendorFrames(group, view))
  return html`<ol class="frames">!${items}</ol>`
}

/** Consecutive frames outside the application; if their first call is listed already, only their number. */
function vendorFrames (frames: readonly StackFrame[], view: ExceptionsView): string {
  const count = counted(frames.length, 'vendor frame')
  const [first] = frames as [StackFrame]
  const call = `${first.function} ${placeOf(first)}`
  if (view.shown.has(call)) return html`<li class="fold"><p>${count} as above</p></li>`
  view.shown.add(call)
  return html`<li class="fold"><details><summary>${count}</summary>
<ol>!${frames.map((frame) => `<li>${frameItem(frame, false, view)}</li>`)}</ol></details></li>`
}

function frameItem (frame: StackFrame, open: boolean, { editor, shown }: ExceptionsView): string {
  const { own, line, excerpt } = frame
  const place = own ? placeOf(frame) : ''
  const item = (rest: string): string => html`<div class="frame">!${label(frame, editor)} !${rest}</div>`
  if (shown.has(place)) return item('<span class="above">shown above</span>')
  if (excerpt === undefined) return item('')
  shown.add(place)
  const source = cut(excerpt.lines[line - excerpt.start]?.trim() || 'Source', MAX_LINE)
  return item(html`<details!${open ? ' open' : ''}><summary><code class="line">${source}</code></summary>
!${renderExcerpt(frame, open ? undefined : AROUND)}</details>`)
}

/** The file of a frame and its function, where that has a name. */
function label (frame: StackFrame, editor: EditorLink | null): string {
  const name = functionOf(frame)
  return fileLink(frame, editor) + (name === '' ? '' : html` <code>${visibleLine(name)}</code>`)
}

/** The file of a frame, with an editor as a link; the stack trace has the whole path. */
export function fileLink ({ file, line, column }: StackFrame, editor: EditorLink | null): string {
  const [, folder = '', name = ''] = /^(.*[\\/])?(.*)$/.exec(shortFile(file)) ?? []
  const position = line > 0 ? `:${line}${column > 0 ? `:${column}` : ''}` : ''
  const shown = file === '' ? '(no file)' : html`${folder}<b>${name}</b>${position}`
  const href = editor?.(file, line, column) ?? null
  return href === null
    ? html`<span class="file">!${shown}</span>`
    : html`<a class="file" href="${href}">!${shown}</a>`
}

/** The section Stack Traces; the trace of the error itself is unfolded. */
export function renderStackTraces (chain: readonly FlattenedException[]): string {
  return html`<section id="stack-traces" aria-labelledby="stack-traces-title">
<h2 id="stack-traces-title">Stack Traces <span class="count">${everyException(chain).length}</span></h2>
!${renderTraces(chain, true)}
</section>`
}

/** One plain text for each exception. */
export function renderTraces (chain: readonly FlattenedException[], isOpen = false): string {
  const exceptions = everyException(chain)
  const limit = Math.max(MIN_STACK, Math.floor(MAX_STACKS / exceptions.length))
  return exceptions.map(({ name, message, stack }, i, all) => html`<details class="trace card"!${
    isOpen && i === all.length - 1 ? ' open' : ''}>
<summary><h3><span class="position">[${i + 1}/${all.length}]</span> ${name}</h3></summary>
<pre data-copy="Copy">${cut(stack || `${name}: ${message}`, limit)}</pre>
</details>`).join('')
}

/** The files that are highlighted; `<` begins an element in those that end in `x`. */
const SOURCE = /\.(?:[cm]?[jt]s|[jt]sx|json)$/i
const KEYWORDS = new Set([
  'as async await break case catch class const continue debugger default delete do else enum export extends false',
  'finally for from function if implements import in instanceof interface keyof let namespace new null of private',
  'protected public readonly return satisfies static super switch this throw true try type typeof undefined var void',
  'while with yield'
].join(' ').split(' '))

const cachedMarkup = sourceCache<string>(500)

/** The source around a frame, at most `around` lines before and after, with its line marked; empty without source. */
export function renderExcerpt (frame: StackFrame, around = Infinity): string {
  const { excerpt, file, line, column } = frame
  if (excerpt === undefined) return ''
  return cachedMarkup(JSON.stringify([file, line, column, around, excerpt]), () => rowsOf(excerpt, frame, around))
}

function rowsOf (excerpt: CodeExcerpt, { file, line, column }: StackFrame, around: number): string {
  const start = Math.max(excerpt.start, line - around)
  const lines = excerpt.lines.slice(start - excerpt.start, line - excerpt.start + around + 1)
  const rows = highlight(lines, file, column > 0 ? { line: line - start, column } : null).map((source, i) => {
    const number = start + i
    const arrow = number === line ? '<span class="arrow">&rarr; </span>' : ''
    const cells = `<span class="number">${arrow}${number}</span><span class="source">${source}\n</span>`
    return number === line ? `<mark>${cells}</mark>` : `<span>${cells}</span>`
  })
  return `<pre class="excerpt"><code>${rows.join('')}</code></pre>`
}

/** A place in an excerpt: `line` is 0-based, `column` 1-based. */
interface Mark { line: number, column: number }

/**
 * The lines of an excerpt as escaped markup: JavaScript and TypeScript are highlighted by classes, and the token at the
 * mark has the class `at`. Never throws: source is hostile, too.
 */
export function highlight (lines: readonly string[], file: string, mark: Mark | null): string[] {
  const source = lines.join('\n')
  if (!SOURCE.test(file)) return lines.map(text)
  // The types of the package have an overload for `true` only.
  const options = { jsx: /x$/i.test(file) } as { jsx: true }
  return attempt(() => highlightTokens(jsTokens(source, options), mark), () => lines.map(text))
}

type AnyToken = Token | JSXToken

function highlightTokens (tokens: Iterable<AnyToken>, mark: Mark | null): string[] {
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
      shown[line] += classes === '' || part === '' ? text(part) : `<i class="${classes}">${text(part)}</i>`
      column += part.length
    }
  }
  return shown
}

function classOf (type: AnyToken['type'], value: string): string {
  if (type.endsWith('Comment')) return 'c'
  switch (type) {
    case 'StringLiteral': case 'NoSubstitutionTemplate': case 'TemplateHead': case 'TemplateMiddle':
    case 'TemplateTail': case 'RegularExpressionLiteral': case 'JSXString': return 's'
    case 'NumericLiteral': return 'n'
    case 'JSXIdentifier': return 't'
    case 'IdentifierName': return KEYWORDS.has(value) ? 'k' : /^\p{Lu}/u.test(value) ? 't' : ''
    default: return ''
  }
}
