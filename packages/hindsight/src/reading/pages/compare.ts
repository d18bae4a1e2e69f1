import { formatCount, html, textOrJson, visibleLine, type HtmlValue, type SafeHtml } from '../../view/text.js'
import { rankedDifferences, type Compared, type Comparison, type RankedDifference } from '../compare/compare.js'
import type { Difference } from '../../parts/section.js'
import { isJob, shownOutcome } from '../../store/profile.js'
import {
  formatSize, foldedContent, leadText, formatTime, timeElement, noteText, statusBadge, markupTable, withCode
} from '../../view/components.js'
import { pageLayout, type PageOptions } from './layout.js'

const MAX_VALUE = 4_000
const MAX_ROWS = 200

/** The page of two profiles: the differences, causes first, then those that mean little. */
export function comparePage (comparison: Comparison, options: PageOptions): SafeHtml {
  const { a, b, differences, equal, sections } = comparison
  const { shown, ofClient } = rankedDifferences(comparison)
  const volatile = sections.flatMap(({ label, always }) => always.map((one) => ({ ...one, label })))
  const verdict = `A took ${formatTime(a.duration)}, B ${formatTime(b.duration)}: ` +
    `${formatCount(differences, 'difference')}, ${formatCount(equal, 'value is', 'values are')} equal.`
  const folded = (label: string, all: readonly RankedDifference[]): HtmlValue =>
    all.length > 0 && foldedContent(`${label} (${all.length})`, sidesTable(label, all))
  return pageLayout(options, `${a.token} and ${b.token}`, html`<main id="content" class="compare">
<h1>Comparison</h1>
<div class="compared">${card('A', a, options)}${card('B', b, options)}</div>
${leadText(verdict, differences === 0 ? 'good' : 'plain')}
${shown.length > 0 && sidesTable('Differences', shown)}
${folded('Cookies and headers of the clients', ofClient)}${folded('Times, ids, nonces and tokens', volatile)}
<p class="pages"><a href="${options.base}/${b.token}/compare/${a.token}">Swap A and B</a>
<a href="${options.base}/${a.token}/compare/${b.token}.json">JSON</a></p>
</main>`)
}

function card (letter: string, compared: Compared, { base }: PageOptions): SafeHtml {
  const { token, time, method, url, status, duration, route, error, exception } = compared
  return html`<section class="card" aria-label="Profile ${letter}"><p><strong>${letter}</strong> \
<a href="${base}/${token}">${token}</a> ${statusBadge(status, shownOutcome(compared), error)} ${timeElement(time)}</p>
<p class="url">${method} ${visibleLine(url)}</p>
<p class="facts">${!isJob(compared) && `route ${route ?? 'none'}, `}${formatTime(duration)}</p>\
${exception !== null && html`<p class="exception-line">${visibleLine(exception)}</p>`}</section>`
}

function sidesTable (label: string, differences: readonly RankedDifference[]): HtmlValue {
  const shown = differences.slice(0, MAX_ROWS)
  const rows = shown.map((one) => {
    const [a, b] = [sideText(one, 'a'), sideText(one, 'b')]
    return html`<tr><th scope="row">${withCode(visibleLine(one.what), null)} <small>${one.label}</small></th>
<td class="text" data-label="A">${side(a, b)}</td><td class="text" data-label="B">${side(b, a)}</td></tr>`
  })
  const left = differences.length - shown.length
  return [markupTable(label, ['Name', 'A', 'B'], rows, 'sides'), left > 0 && noteText(`${left} more are in the JSON.`)]
}

/** The text of one side; null where there is none. */
function sideText (difference: Difference, which: 'a' | 'b'): string | null {
  if (difference.kind === (which === 'a' ? 'only-b' : 'only-a')) return null
  const text = textOrJson(difference[which], 1)
  if (text.length <= MAX_VALUE) return text
  return `${text.slice(0, MAX_VALUE)}… (${formatSize(text.length)} in all)`
}

/** A text in which the words are marked between those that the other text has, too. */
function side (text: string | null, other: string | null): HtmlValue {
  if (text === null) return html`<span class="none">absent</span>`
  if (text === '') return html`<span class="none">empty</span>`
  const wordsOf = (one: string): string[] => one.match(/\w+|\W/gu) ?? []
  const [words, others] = [wordsOf(text), wordsOf(other ?? '')]
  const most = Math.min(words.length, others.length)
  let from = 0
  while (from < most && words[from] === others[from]) from++
  let after = 0
  while (after < most - from && words.at(-1 - after) === others.at(-1 - after)) after++
  const to = words.length - after
  if (from + after === 0 || from === to) return text
  const part = (start: number, end?: number): string => words.slice(start, end).join('')
  return html`${part(0, from)}<mark>${part(from, to)}</mark>${part(to)}`
}
