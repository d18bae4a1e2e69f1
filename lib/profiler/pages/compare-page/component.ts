import { html } from '../../../view/html.js'
import { style as readStyle } from '../../../view/asset.js'
import { visibleLine } from '../../../view/visible.js'
import type { Change, Compared, Comparison, Difference, Section } from '../../compare/comparison.js'
import { bytes, chapter, fold, lead, milliseconds, moment, scrollable, statusBadge } from '../components.js'
import { layout, type PageOptions } from '../layout/component.js'
import { counted } from '../../../view/counted.js'

const MAX_VALUE = 4_000
const MAX_ROWS = 200

/** How two profiles look beside each other. */
export const style = readStyle(import.meta.url, './style.css')

/** The page of two profiles: what differs first, then what is the same, and last what always differs. */
export function comparePage (comparison: Comparison, options: PageOptions): string {
  const { a, b, differences, equal, sections } = comparison
  const differing = sections.filter((one) => one.differences.length > 0)
  const same = sections.filter((one) => one.differences.length === 0 && one.equal > 0)
  const always = sections.flatMap((one) => one.always.map((difference) => ({ ...difference, what: `${one.label}: ${difference.what}` })))
  return layout(options, `${a.token} and ${b.token}`, html`<main id="content" class="compare">
<h1>Comparison</h1>
<div class="compared">!${compared('A', a, options)}!${compared('B', b, options)}</div>
!${lead(differences === 0 ? `Nothing that matters differs; ${counted(equal, 'thing is', 'things are')} the same.` : `${counted(differences, 'thing differs', 'things differ')}, ${counted(equal, 'is', 'are')} the same.`, differences === 0 ? 'good' : 'plain')}
!${differing.map((one) => chapter(one.label, table(one.label, one.differences) + alike(one), `of-${one.name.replace(/[^\w-]/g, '-')}`))}
!${same.length === 0 ? '' : chapter('The same in both', html`<ul class="same">!${same.map(({ label, equal }) => html`<li>${label} <span class="count">${equal}</span></li>`)}</ul>`)}
!${always.length === 0 ? '' : chapter('What is another each time', fold('Times, ids, nonces and tokens', table('What is another each time', always), always.length))}
<p class="pages"><a href="${options.base}/${b.token}/compare/${a.token}">The other way round</a> <a href="${options.base}/${a.token}/compare/${b.token}.json">JSON</a></p>
</main>`)
}

function compared (letter: string, { token, time, method, url, status, duration, route, exception }: Compared, { base }: PageOptions): string {
  return html`<section class="card" aria-label="Profile ${letter}"><p><strong class="letter">${letter}</strong> <a href="${base}/${token}">${token}</a> !${statusBadge(status)} !${moment(time)}</p>
<p class="url">${method} ${visibleLine(url)}</p>
<p class="facts">route ${route ?? 'none'}, ${milliseconds(duration)}</p>!${exception === null ? '' : html`<p class="exception-line">${visibleLine(exception)}</p>`}</section>`
}

function alike ({ equal }: Section): string {
  return equal === 0 ? '' : html`<p class="note">${counted(equal, 'more is', 'more are')} the same.</p>`
}

function table (label: string, differences: readonly Difference[]): string {
  const shown = differences.slice(0, MAX_ROWS)
  return scrollable(label, html`<table class="sides" aria-label="${label}"><thead><tr><th scope="col">What</th><th scope="col">A</th><th scope="col">B</th></tr></thead><tbody>!${shown.map((one) =>
    html`<tr><th scope="row">${visibleLine(one.what)}</th><td class="text a">!${side(one, 'a')}</td><td class="text b">!${side(one, 'b')}</td></tr>`)}</tbody></table>`) +
    (shown.length === differences.length ? '' : html`<p class="note">${differences.length - shown.length} more are in the JSON.</p>`)
}

function side (difference: Difference, which: 'a' | 'b'): string {
  const { kind, parts } = difference
  if (kind === (which === 'a' ? 'only-b' : 'only-a')) return html`<span class="none">not there</span>`
  if (parts !== undefined) return marked(parts, which)
  const value = difference[which]
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 1)
  if (text === '') return html`<span class="none">empty</span>`
  return text.length <= MAX_VALUE ? html`${text}` : html`${text.slice(0, MAX_VALUE)}… (${bytes(text.length)} in all)`
}

function marked (parts: readonly Change[], which: 'a' | 'b'): string {
  const name = which === 'a' ? 'del' : 'ins'
  return parts.filter((part) => part.in === 'both' || part.in === which).map((part) =>
    part.in === 'both' ? html`${part.text}` : html`<!${name}>${part.text}</!${name}>`).join('')
}
