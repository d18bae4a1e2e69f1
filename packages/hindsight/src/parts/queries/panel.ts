import {
  formatTime, noteText, pairsTable, pendingTime, placeElement, titledSection, markupTable, withPlaces
} from '../../view/components.js'
import type { EditorLink } from '../../view/editor.js'
import { formatCount, html, wordFor, type HtmlValue, type SafeHtml } from '../../view/text.js'
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
}

export function panelOf ({ queries: all, groups, findings, count }: Shown, token: string, view: PanelView): HtmlValue {
  const { editor } = view
  if (all.length === 0) return noteText('No query was sent.')
  const more = count - all.length
  const failed: Array<Pick<Finding, 'text' | 'queries'>> = []
  for (const [i, { error, shape }] of all.entries()) {
    if (error !== undefined) failed.push({ text: `\`${shortShape(shape)}\` failed: ${error.message}`, queries: [i] })
  }
  const items = [...failed, ...findings].map((finding) => html`<li>${findingText(finding, all, editor)} \
<a href="#query-${Number(finding.queries[0]) + 1}">Show</a></li>`)
  const byStatement = markupTable('Queries by statement', ['Statement', ['Count'], ['Different'], ['Time']],
    groups.map((group) => groupRow(group, editor)), 'rows')
  const inOrder = markupTable('Queries in order of time', ['Statement', ['Rows'], ['Start'], ['Duration']],
    all.map((query, i) => queryRow(query, i, editor, planButton(query, i, view))), 'rows')
  return [
    items.length > 0 && html`<ul class="findings">${items}</ul>`,
    titledSection('By statement', byStatement),
    titledSection('In order of time', [
      planForm(token, view, inOrder),
      more > 0 && noteText(`${formatCount(more, 'more was', 'more were')} only counted.`)
    ])
  ]
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

function groupRow (group: QueryGroup, editor: EditorLink | null): SafeHtml {
  const { system, shape, count, distinct, duration, sources, kind } = group
  const mark = kind !== null && html` <span class="count warn">${kind}</span>`
  return html`<tr${kind !== null && html` class="has-warning"`}>
<td class="text"><code class="sql">${highlightedText({ system, statement: shape })}</code>${mark}\
<div class="places">${sources.map((source) => html`<div>${placeElement(lineOf(source), editor)}</div>`)}</div></td>
<td class="number" data-unit="${wordFor(count, 'time')}">${count}</td>
<td class="number" data-unit="different">${distinct}</td><td class="number">${formatTime(duration)}</td></tr>`
}

function queryRow (query: RecordedQuery, i: number, editor: EditorLink | null, button: HtmlValue): SafeHtml {
  const { start, duration, wait = 0, rows, source, sender = '', error } = query
  const { message, ...facts } = error ?? {}
  const from = source === null ? withPlaces(sender, editor) : placeElement(lineOf(source), editor)
  const isFailed = error !== undefined
  const failure = isFailed && html`<div class="failure">${message}</div>${pairsTable('Error', facts, '')}`
  const waited = wait >= 1 && html`<div class="note">waited ${formatTime(wait)} for a connection</div>`
  return html`<tr id="query-${i + 1}"${isFailed && html` class="has-problem"`}>
<td class="text"><code class="sql" data-copy="Copy">${highlightedText(query, error?.position)}</code>\
<div class="places">${from} ${button}</div>${waited}${failure}</td>
<td class="number" data-unit="${wordFor(rows ?? 0, 'row')}">${rows}</td>
<td class="number" data-unit="after the start">${formatTime(start)}</td>
<td class="number">${pendingTime(duration)}</td></tr>`
}
