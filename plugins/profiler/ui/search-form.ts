import { html } from '../../view/html.js'
import type { PageOptions } from './layout.js'

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

/** The form of a search: it works without a script, and every search is an address that can be kept. */
export function searchForm (fields: Fields, { base }: PageOptions, open: boolean): string {
  return html`<details class="search"!${open ? ' open' : ''}><summary>Search</summary>
<form method="get" action="${base}/search" role="search">
!${TEXTS.map(({ name, label, hint = '' }) => html`<label><span>${label}</span> <input name="${name}" value="${fields[name] ?? ''}" placeholder="${hint}" autocomplete="off" spellcheck="false"></label>`)}
<label><span>Outcome</span> <select name="error">!${OUTCOMES.map(([value, label]) =>
  html`<option value="${value}"!${(fields.error ?? '') === value ? ' selected' : ''}>${label}</option>`)}</select></label>
<label><span>At most</span> <select name="limit">!${['20', '50', '100', '500'].map((limit) =>
  html`<option!${(fields.limit ?? '50') === limit ? ' selected' : ''}>${limit}</option>`)}</select></label>
<div class="actions"><button>Search</button> <a href="${base}/">Show all</a></div>
</form></details>`
}
