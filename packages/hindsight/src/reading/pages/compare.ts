import { formatCount, html, textOrJson, visibleLine, type HtmlValue, type SafeHtml } from '../../view/text.js'
import type { Compared, Comparison } from '../compare/compare.js'
import type { Difference } from '../../parts/section.js'
import {
  formatSize, foldedContent, leadText, formatTime, timeElement, noteText, titledSection, statusBadge, markupTable
} from '../../view/components.js'
import { pageLayout, type PageOptions } from './layout.js'

const MAX_VALUE = 4_000
const MAX_ROWS = 200

/** The page of two profiles: the differences by section, then the volatile values that differ. */
export function comparePage (comparison: Comparison, options: PageOptions): SafeHtml {
  const { a, b, differences, equal, sections } = comparison
  const differing = sections.filter((one) => one.differences.length > 0)
  const volatile = sections.flatMap((one) =>
    one.always.map((difference) => ({ ...difference, what: `${one.label}: ${difference.what}` })))
  const verdict = `${formatCount(differences, 'difference')}, ${formatCount(equal, 'value is', 'values are')} equal.`
  const volatileTable = sidesTable('Ignored (volatile)', volatile)
  const volatileFold = foldedContent(`Times, ids, nonces and tokens (${volatile.length})`, volatileTable)
  return pageLayout(options, `${a.token} and ${b.token}`, html`<main id="content" class="compare">
<h1>Comparison</h1>
<div class="compared">${card('A', a, options)}${card('B', b, options)}</div>
${leadText(verdict, differences === 0 ? 'good' : 'plain')}
${differing.map(({ name, label, differences, equal }) => titledSection(
  label,
  [sidesTable(label, differences), equal > 0 && noteText(`${formatCount(equal, 'more is', 'more are')} equal.`)],
  `of-${name.replace(/[^\w-]/g, '-')}`, 2))}
${volatile.length > 0 && titledSection('Ignored (volatile)', volatileFold, '', 2)}
<p class="pages"><a href="${options.base}/${b.token}/compare/${a.token}">Swap A and B</a>
<a href="${options.base}/${a.token}/compare/${b.token}.json">JSON</a></p>
</main>`)
}

function card (letter: string, compared: Compared, { base }: PageOptions): SafeHtml {
  const { token, time, method, url, status, outcome, duration, route, exception } = compared
  return html`<section class="card" aria-label="Profile ${letter}"><p><strong>${letter}</strong> \
<a href="${base}/${token}">${token}</a> ${statusBadge(status, outcome)} ${timeElement(time)}</p>
<p class="url">${method} ${visibleLine(url)}</p>
<p class="facts">${outcome === undefined && `route ${route ?? 'none'}, `}${formatTime(duration)}</p>\
${exception !== null && html`<p class="exception-line">${visibleLine(exception)}</p>`}</section>`
}

function sidesTable (label: string, differences: readonly Difference[]): HtmlValue {
  const shown = differences.slice(0, MAX_ROWS)
  const rows = shown.map((one) => html`<tr><th scope="row">${visibleLine(one.what)}</th>
<td class="text" data-label="A">${side(one, 'a')}</td><td class="text" data-label="B">${side(one, 'b')}</td></tr>`)
  const left = differences.length - shown.length
  return [markupTable(label, ['Name', 'A', 'B'], rows, 'sides'), left > 0 && noteText(`${left} more are in the JSON.`)]
}

function side (difference: Difference, which: 'a' | 'b'): HtmlValue {
  if (difference.kind === (which === 'a' ? 'only-b' : 'only-a')) return html`<span class="none">absent</span>`
  const text = textOrJson(difference[which], 1)
  if (text === '') return html`<span class="none">empty</span>`
  if (text.length <= MAX_VALUE) return text
  return `${text.slice(0, MAX_VALUE)}… (${formatSize(text.length)} in all)`
}
