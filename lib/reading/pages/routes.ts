import { fold, milliseconds, note, place, statusBadge, table } from '../../view/components.js'
import type { EditorLink } from '../../view/editor.js'
import { html } from '../../view/html.js'
import { counted, visibleLine } from '../../view/visible.js'
import { layout, type PageOptions } from './layout.js'

/** A route of the application. */
export interface RouteRow {
  name: string
  methods: readonly string[]
  pattern: string
  /** Where it was declared, `file:line`. */
  source?: string
  /** In the order in which they run. */
  hooks: ReadonlyArray<{ stage: string, name: string, plugin?: string, source?: string }>
  /** Of the newest profiles. */
  count: number
  failures: number
  /** Milliseconds. */
  p50: number | undefined
  p95: number | undefined
  /** The most that a request has sent. */
  queries: number
  lastStatus: number | undefined
}

export interface RoutesView {
  routes: readonly RouteRow[]
  /** How many routes there are. */
  all: number
  /** How many profiles were read, and whether there are older ones. */
  profiles: number
  isBounded: boolean
}

export function routesPage (view: RoutesView, editor: EditorLink | null, options: PageOptions): string {
  return layout(options, 'Routes', html`<main id="content"><h1>Routes</h1>
!${routesTable(view, editor, options.base)}</main>`, 0, `${options.base}/routes`)
}

/** The routes of the application, with what recent profiles have of them. */
export function routesTable (
  { routes, all, profiles, isBounded }: RoutesView, editor: EditorLink | null, base: string
): string {
  if (routes.length === 0) return note('The application has no routes.')
  const left = all - routes.length
  const text = `Numbers are of the ${isBounded ? 'newest ' : ''}${counted(profiles, 'profile')}.` +
    (left > 0 ? ` ${counted(left, 'more route is', 'more routes are')} not shown.` : '')
  const rows = routes.map((route) => routeRow(route, editor, base))
  const columns = [
    'Route', 'Hooks', ['Requests'], ['Failures'], ['p50'], ['p95'], ['Queries'], 'Last', 'Request'
  ] as const
  return note(text) + table('Routes', columns as never, rows, 'rows routes')
}

function routeRow (route: RouteRow, editor: EditorLink | null, base: string): string {
  const { name, methods, pattern, source, hooks, count, failures, p50, p95, queries, lastStatus } = route
  const search = new URLSearchParams({ route: name })
  const items = hooks.map(({ stage, name, source, plugin }) => html`<li>${stage} <code>${visibleLine(name)}</code> ` +
    html`!${source === undefined ? html`${plugin ?? 'of the route'}` : place(source, editor)}</li>`)
  const shown = hooks.length === 0 ? '' : fold(counted(hooks.length, 'hook'), html`<ol>!${items}</ol>`)
  const own = name === `${methods.join('|')} ${pattern}` ? '' : html` <span class="facts">${visibleLine(name)}</span>`
  const tries = methods.filter((method) => method !== 'HEAD').map((method) =>
    html`<a href="${base}/routes/try?${String(new URLSearchParams({ method, url: pattern }))}">` +
    html`Try<span class="hidden-visually"> ${method} ${visibleLine(pattern)}</span></a> `)
  const numbers = Object.entries({
    requests: html`<a href="${base}/search?${String(search)}">${count}</a>`,
    failures: html`${failures}`,
    p50: milliseconds(p50),
    p95: milliseconds(p95),
    queries: html`${queries}`
  }).map(([label, one]) => html`<td class="number" data-label="${label}">!${count > 0 ? one : ''}</td>`)
  return html`<tr!${failures > 0 ? ' class="has-problem"' : ''}><td class="text">${methods.join('|')} ` +
    html`${visibleLine(pattern)}!${own}!${source === undefined ? '' : html`<div>!${place(source, editor)}</div>`}</td>
<td>!${shown}</td>!${numbers}
<td>!${lastStatus === undefined ? '' : statusBadge(lastStatus)}</td>
<td>!${tries}</td></tr>`
}
