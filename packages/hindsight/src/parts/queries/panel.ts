import {
  foldedContent, formatTime, noteText, pairsTable, pendingTime, placeElement, markupTable, withPlaces
} from '../../view/components.js'
import type { EditorLink } from '../../view/editor.js'
import { formatCount, html, presentItems, wordFor, type HtmlValue, type SafeHtml } from '../../view/text.js'
import type { PanelView } from '../part.js'
import { lineOf } from '../read.js'
import type { QueryGroup } from './groups.js'
import { planButton, planForm } from './plan.js'
import type { Finding, RecordedQuery } from './recorded-query.js'
import { shortShape } from './sql.js'
import { highlightedText } from './statement-text.js'

/** The queries of a profile, as the panel shows them; `count` includes those that are only counted. */
interface Shown {
  queries: readonly RecordedQuery[]
  groups: readonly QueryGroup[]
  findings: readonly Finding[]
  count: number
  /** Of all queries, in words. */
  time: string
}

export function panelOf (shown: Shown, token: string, view: PanelView): HtmlValue {
  const { queries: all, groups, findings, count } = shown
  const { editor } = view
  if (all.length === 0) return noteText('No query was sent.')
  const more = count - all.length
  const failed: Array<Pick<Finding, 'text' | 'queries'>> = []
  for (const [i, { error, shape }] of all.entries()) {
    if (error !== undefined) failed.push({ text: `\`${shortShape(shape)}\` failed: ${error.message}`, queries: [i] })
  }
  const items = [...failed, ...findings].map((finding) => html`<li>${findingText(finding, all, editor)} \
<a href="#query-${Number(finding.queries[0]) + 1}">Show</a></li>`)
  // What is remarkable first, then what took most time.
  const ordered = groups.toSorted((a, b) =>
    Number(b.kind !== null) - Number(a.kind !== null) || b.duration - a.duration)
  const rows = ordered.map((group) => groupRows(group, all, view))
  const columns = ['Statement', ['Runs'], ['Rows'], ['Start'], ['Time']] as const
  return [
    items.length > 0 && html`<ul class="findings">${items}</ul>`,
    noteText(metricsOf(shown)),
    planForm(token, view, markupTable('Queries by statement', columns, rows, 'rows')),
    more > 0 && noteText(`${formatCount(more, 'more was', 'more were')} only counted.`)
  ]
}

/** The numbers of all queries, in one line. */
function metricsOf ({ count, time, groups, findings }: Shown): string {
  const slow = findings.filter(({ kind }) => kind === 'slow').length
  return presentItems([
    formatCount(count, 'query', 'queries'), formatCount(groups.length, 'statement'), time, slow > 0 && `${slow} slow`
  ]).join(' · ')
}

/** The sentence of a finding; the shape of its queries is code. */
export function findingText (
  finding: Pick<Finding, 'text' | 'queries'>, all: readonly RecordedQuery[], editor: EditorLink | null
): HtmlValue {
  const { text, queries: [first = 0] } = finding
  const shape = shortShape(all[first]?.shape ?? '')
  const [before = '', ...after] = text.split(`\`${shape}\``)
  if (after.length === 0) return withPlaces(text, editor)
  return html`${before}<code>${shape}</code>${withPlaces(after.join(''), editor)}`
}

/** The rows of a statement: of its only run, or of all, with the runs below them. */
function groupRows (group: QueryGroup, all: readonly RecordedQuery[], view: PanelView): SafeHtml {
  const { system, shape, count, distinct, duration, sources, kind } = group
  const { editor } = view
  const runs = [...all.entries()].filter(([, query]) => query.shape === shape && query.system === system)
  const [[first, query] = []] = runs
  // Those of a statement may only be counted.
  const button = first !== undefined && query !== undefined && planButton(query, first, view)
  if (count === 1 && first !== undefined && query !== undefined) {
    return runRow(query, first, editor, html`<td class="number" data-unit="time">1</td>`, button)
  }
  const mark = kind !== null && html` <span class="count warn">${kind}</span>`
  const rows = runs.map(([i, run]) => runRow(run, i, editor))
  const recorded = runs.length === count ? '' : `${runs.length} of `
  const label = `${recorded}${formatCount(count, 'run')}, ${distinct} different`
  const table = html`<table aria-label="${label}"><tbody>${rows}</tbody></table>`
  return html`<tr${kind !== null && html` class="has-warning"`}>
<td class="text"><code class="sql" data-copy="Copy">${highlightedText({ system, statement: shape })}</code>${mark}\
<div class="places">${sources.map((source) => html`${placeElement(lineOf(source), editor)} `)} ${button}</div></td>
<td class="number" data-unit="${wordFor(count, 'time')}">${count}</td><td></td><td></td>
<td class="number">${formatTime(duration)}</td></tr>
${runs.length > 0 && html`<tr class="runs"><td colspan="5">${foldedContent(label, table)}</td></tr>`}`
}

function runRow (
  query: RecordedQuery, i: number, editor: EditorLink | null, runs?: SafeHtml, button?: HtmlValue
): SafeHtml {
  const { start, duration, wait = 0, rows, source, sender = '', error } = query
  const { message, ...facts } = error ?? {}
  const from = source === null ? withPlaces(sender, editor) : placeElement(lineOf(source), editor)
  const isFailed = error !== undefined
  const failure = isFailed && html`<div class="failure">${message}</div>${pairsTable('Error', facts, '')}`
  const waited = wait >= 1 && html`<div class="note">waited ${formatTime(wait)} for a connection</div>`
  return html`<tr id="query-${i + 1}"${isFailed && html` class="has-problem"`}>
<td class="text"><code class="sql"${runs && html` data-copy="Copy"`}>${highlightedText(query, error?.position)}</code>\
<div class="places">${from} ${button}</div>${waited}${failure}</td>${runs}
<td class="number" data-unit="${wordFor(rows ?? 0, 'row')}">${rows}</td>
<td class="number" data-unit="after the start">${formatTime(start)}</td>
<td class="number">${pendingTime(duration)}</td></tr>`
}
