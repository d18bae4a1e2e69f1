import { excerptAt, numberedLines } from '../../errors/source-file.js'
import { shortFile } from '../../errors/stack-frame.js'
import type { RanFunction } from '../../inspection/compare-functions.js'
import { leadText, noteText, placeElement, postForm, titledSection } from '../../view/components.js'
import type { EditorLink } from '../../view/editor.js'
import { formatCount, html, type HtmlValue, type SafeHtml } from '../../view/text.js'
import type { Profile } from '../../store/profile.js'
import { isSafe } from '../replay/stored-request.js'
import { pageLayout, type PageOptions } from './layout.js'

/** The token and the status of a replay. */
export interface SentAgain { token: string, status: number }

/** The functions that only one of two replays ran: a failure, or the last success of its route. */
export interface Coverage {
  /** Of the failure that was replayed. */
  token: string
  success: SentAgain
  failure: SentAgain
  onlyFailure: readonly RanFunction[]
  onlySuccess: readonly RanFunction[]
}

/** Functions whose source is shown, and their lines. */
const MAX_SHOWN = 20
const MAX_LINES = 30
export const SAME_FUNCTIONS = 'Both ran the same functions of the application.'
const NOTE = 'Both requests were sent again, one after the other. What other requests ran meanwhile is ' +
  'included. Lines within a function that both ran are not compared.'

/** The form that replays a failure and the last success of its route. */
export function coverageForm ({ token, method }: Profile, base: string, formToken: string): SafeHtml {
  const consent = !isSafe(method) && html`<label><input type="checkbox" name="confirm" value="1" required> \
Send this ${method} and that of the success again: both may have side effects</label> `
  return postForm(`${base}/${token}/coverage`, formToken,
    html`<p class="pages">${consent}<button type="submit">Compare the functions that ran</button></p>`)
}

/** The functions in one sentence: `Only the failure ran refund (src/price.js:14–20).` */
export function coverageSentence ({ onlyFailure, onlySuccess }: Coverage): string {
  const facts = [['failure', onlyFailure], ['success', onlySuccess]] as const
  const texts = facts.flatMap(([which, functions]) =>
    functions.length === 0 ? [] : [`only the ${which} ran ${functions.map(textOfFunction).join(', ')}`])
  if (texts.length === 0) return SAME_FUNCTIONS
  return `${texts.join('; ').replace(/^o/, 'O')}.`
}

/** A function with its lines, as `refund (src/price.js:14–20)`. */
export function textOfFunction ({ name, file, first, last }: RanFunction): string {
  const place = shortFile(`${file}:${first}`)
  return `${name} (${first === last ? place : `${place}–${last}`})`
}

export function coveragePage (coverage: Coverage, editor: EditorLink | null, options: PageOptions): SafeHtml {
  const { token, success, failure, onlyFailure, onlySuccess } = coverage
  const { base } = options
  const link = (one: SentAgain): SafeHtml =>
    html`<a href="${base}/${one.token}">${one.token}</a> (${one.status})`
  const counts = [onlyFailure, onlySuccess].map((lines) => formatCount(lines.length, 'function'))
  return pageLayout(options, 'Functions that ran', html`<main id="content" class="replay"><h1>Functions that ran</h1>
${leadText(coverageSentence(coverage), 'plain', editor)}
<p class="note">The failure <a href="${base}/${token}">${token}</a> was sent as ${link(failure)}, the success as \
${link(success)}. ${NOTE}</p>
${titledSection(`Only the failure: ${counts[0]}`, sources(onlyFailure, editor), '', 2)}
${titledSection(`Only the success: ${counts[1]}`, sources(onlySuccess, editor), '', 2)}
</main>`, failure.status)
}

function sources (functions: readonly RanFunction[], editor: EditorLink | null): HtmlValue {
  if (functions.length === 0) return noteText('None.')
  return functions.slice(0, MAX_SHOWN).map(({ name, file, first, last }) => {
    const excerpt = excerptAt(file, first, 0, Math.min(last - first, MAX_LINES))
    const place = html`<p class="file"><code>${name}</code> ${placeElement(`${file}:${first}`, editor)}</p>`
    return html`${place}${excerpt !== undefined && html`<pre class="data">${numberedLines(excerpt, first)}</pre>`}`
  })
}
