import { html } from '../../../view/html.js'
import { DEFAULT_LIMIT } from '../../search-query.js'
import type { PageOptions } from '../layout/component.js'

/** The fields of a search as they were written. */
export type Fields = Readonly<Record<string, string>>

interface Field {
  name: string
  label: string
  hint?: string
}

const TEXTS: readonly Field[] = [
  { name: 'url', label: 'URL contains' },
  { name: 'status', label: 'Status', hint: '404 or 4xx' },
  { name: 'method', label: 'Method' },
  { name: 'exception', label: 'Exception contains' },
  { name: 'route', label: 'Route', hint: '* for any part' },
  { name: 'ip', label: 'Client', hint: 'address or CIDR' },
  { name: 'min_duration', label: 'At least', hint: 'ms' },
  { name: 'from', label: 'From', hint: '2026-01-31T12:00' },
  { name: 'until', label: 'Until', hint: 'UTC' },
  { name: 'token', label: 'Token' },
  { name: 'parent', label: 'Caused by', hint: 'token' }
]
const OUTCOMES = [['', 'All'], ['1', 'Failures'], ['0', 'Successes']] as const
/** What says how a search is shown, not what is looked for. */
const NO_CRITERIA = new Set(['limit', 'cursor'])

/** The fields that say what is looked for. */
export function criteriaOf (fields: Fields): Array<[string, string]> {
  return Object.entries(fields).filter(([name, value]) => value !== '' && !NO_CRITERIA.has(name))
}

/** A search as the query of its address, without what would be so anyway. */
export function queryOf (fields: Fields): string {
  return new URLSearchParams(Object.entries(fields).filter(([name, value]) => value !== '' && !(name === 'limit' && value === String(DEFAULT_LIMIT)))).toString()
}

/** The form of a search: it works without a script, and every search is an address that can be kept. */
export function searchForm (fields: Fields, { base }: PageOptions, open: boolean): string {
  return html`<details class="search"!${open ? ' open' : ''}><summary>Search</summary>
<form method="get" action="${base}/search" role="search">
!${TEXTS.map(({ name, label, hint = '' }) => html`<label><span>${label}</span> <input type="text" name="${name}" value="${fields[name] ?? ''}" placeholder="${hint}" autocomplete="off" spellcheck="false"></label>`)}
<label><span>Outcome</span> <select name="error">!${OUTCOMES.map(([value, label]) =>
  html`<option value="${value}"!${(fields.error ?? '') === value ? ' selected' : ''}>${label}</option>`)}</select></label>
<label><span>At most</span> <select name="limit">!${['20', '50', '100', '500'].map((limit) =>
  html`<option!${(fields.limit ?? String(DEFAULT_LIMIT)) === limit ? ' selected' : ''}>${limit}</option>`)}</select></label>
<div class="actions"><button type="submit">Search</button> <a href="${base}/">Show all</a></div>
</form></details>`
}

/** The form that removes what fits: folded, and it says how much it means, so that nobody does it by mistake. */
export function purgeForm (fields: Fields, { base, formToken }: PageOptions): string {
  const criteria = criteriaOf(fields)
  const what = criteria.length === 0 ? 'every profile that is not pinned' : `every profile that fits this search (${criteria.map(([name, value]) => `${name} ${value}`).join(', ')}) and is not pinned`
  return html`<details class="purge"><summary>Purge…</summary><form method="post" action="${base}/purge">
<input type="hidden" name="form_token" value="${formToken}">!${criteria.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<p>This removes ${what}. It cannot be undone.</p>
<label><input type="checkbox" required> I want them removed</label> <button type="submit" class="danger">Purge</button></form></details>`
}
