import type { FastifyInstance } from 'fastify'
import { declaredPlace } from '../../errors/declared-place.js'
import { packageOf } from '../../errors/stack-frame.js'
import { hookOrigin } from '../../recording/application-hooks.js'
import { groupedBy } from '../../parts/read.js'
import { methodsText } from '../../routing/route-table.js'
import { isMeasured, shownOutcome } from '../../store/profile.js'
import { foldedContent, formatTime, noteText, placeElement, statusBadge, markupTable } from '../../view/components.js'
import type { EditorLink } from '../../view/editor.js'
import { formatCount, html, presentItems, visibleLine, type HtmlValue, type SafeHtml } from '../../view/text.js'
import { pageLayout, type PageOptions } from './layout.js'

/** The newest profiles whose durations and statuses are shown. */
const MAX_PROFILES = 1_000
const MAX_ROUTES = 300
/** The numbers of a route that order the table, by the name of their column. */
const NUMBERS = { Requests: 'count', Failures: 'failures', p50: 'p50', p95: 'p95', Queries: 'queries' } as const
/** The heads of columns whose name does not say which number they have. */
const HEADS: Readonly<Record<string, string>> = { Queries: 'Max. queries' }

type RoutesView = Awaited<ReturnType<typeof routesOf>>

/** What is shown of the routes: those with a text in their name, ordered by a number, the greatest first. */
export interface RouteFilter { q?: string, sort?: keyof typeof NUMBERS }

/** Whether the table has a column of numbers with this name. */
export function isNumberColumn (name: string): name is keyof typeof NUMBERS {
  return Object.hasOwn(NUMBERS, name)
}

/** The names of the columns that order the table. */
export const numberColumns = Object.keys(NUMBERS).join(', ')

/** The routes of an application with their hooks, and what the newest profiles have of them. */
export async function routesOf (
  { routeTable, profiler }: Pick<FastifyInstance['hindsight'], 'routeTable' | 'profiler'>
) {
  const { profiles, next } = await profiler.search({ limit: MAX_PROFILES })
  const byRoute = groupedBy(profiles, ({ route }) => route)
  const routes = routeTable.routes.slice(0, MAX_ROUTES).map((route) => {
    const { name, methods, pattern, declaredAt } = route
    const known = byRoute.get(name) ?? []
    const durations = known.filter((one) => !isMeasured(one)).map(({ duration }) => duration).sort((a, b) => a - b)
    const at = (share: number): number | undefined => durations[Math.ceil(durations.length * share) - 1]
    return {
      name,
      methods,
      pattern,
      source: declaredAt === null ? undefined : declaredPlace(declaredAt)?.source,
      hooks: routeTable.hooksOf(route).map(({ stage, hook, addedAt, pluginName = '' }) =>
        ({ stage, name: hook.name, ...addedAt !== undefined && hookOrigin(addedAt, pluginName) })),
      count: known.length,
      failures: known.filter(({ error }) => error).length,
      p50: at(0.5),
      p95: at(0.95),
      // The most that a request has sent.
      queries: Math.max(0, ...known.map(({ values }) => Number(values?.queries ?? 0))),
      lastStatus: known[0]?.status,
      lastOutcome: known[0] && shownOutcome(known[0]),
      lastFailed: known[0]?.error
    }
  })
  return { routes, all: routeTable.routes.length, profiles: profiles.length, isBounded: next !== null }
}

export function routesPage (
  view: RoutesView, editor: EditorLink | null, filter: RouteFilter, options: PageOptions
): SafeHtml {
  const { base } = options
  const { q = '' } = filter
  return pageLayout(options, 'Routes', html`<main id="content"><h1>Routes</h1>
<form class="filters" role="search"><label>Route contains <input type="search" name="q" value="${q}"></label>
<button type="submit">Filter</button></form>
${routesTable(view, editor, base, filter)}</main>`, 0, `${base}/routes`)
}

/** The routes of the application, with what recent profiles have of them. */
export function routesTable (
  { routes: known, all, profiles, isBounded }: RoutesView, editor: EditorLink | null, base: string,
  { q = '', sort }: RouteFilter = {}
): HtmlValue {
  if (known.length === 0) return noteText('The application has no routes.')
  const routes = known.filter(({ name }) => name.toLowerCase().includes(q.toLowerCase()))
  if (routes.length === 0) return noteText('No route matches.')
  if (sort !== undefined) routes.sort((a, b) => (b[NUMBERS[sort]] ?? 0) - (a[NUMBERS[sort]] ?? 0))
  const numbered = Object.keys(NUMBERS).map((name): [SafeHtml] => {
    const query = String(new URLSearchParams({ q, sort: name }))
    return [html`<a href="${base}/routes?${query}">${HEADS[name] ?? name}</a>`]
  })
  const left = all - known.length
  const numbers = `The numbers come from ${isBounded ? 'the newest ' : ''}${formatCount(profiles, 'profile')}.`
  const texts = presentItems([
    profiles > 0 && numbers,
    left > 0 && `${formatCount(left, 'more route is', 'more routes are')} not shown.`
  ])
  const rows = routes.map((route) => routeRow(route, editor, base))
  const columns = ['Route', 'Hooks', ...numbered, 'Last', 'Try']
  return [texts.length > 0 && noteText(texts.join(' ')), markupTable('Routes', columns, rows, 'rows routes')]
}

function routeRow (route: RoutesView['routes'][number], editor: EditorLink | null, base: string): SafeHtml {
  const { name, methods, pattern, source, hooks, count, failures, p50, p95, queries, ...last } = route
  const search = new URLSearchParams({ route: name })
  const codeOf = (text: string): HtmlValue => text !== '' && html`<code>${visibleLine(text)}</code> `
  const items = hooks.map(({ stage, name, source, plugin = 'of the route' }) =>
    html`<li>${stage} ${codeOf(name)}${source === undefined ? plugin : placeElement(source, editor)}</li>`)
  const shown = hooks.length > 0 && foldedContent(formatCount(hooks.length, 'hook'), html`<ol>${items}</ol>`)
  const shownMethods = methodsText(methods)
  const declared = `${shownMethods} ${pattern}`
  const otherName = name !== declared && html` <span class="facts">${visibleLine(name)}</span>`
  const tried = shownMethods === 'ALL' ? ['GET'] : methods.filter((method) => method !== 'HEAD')
  const tries = tried.map((method) => {
    const [label, accessibleName] = tried.length === 1 ? ['Send…', `Send… ${method}`] : [`${method}…`, `${method}…`]
    return html`<a href="${base}/routes/try?${String(new URLSearchParams({ method, url: pattern }))}" \
aria-label="${accessibleName} ${visibleLine(pattern)}">${label}</a> `
  })
  const numbers = Object.entries({
    requests: html`<a href="${base}/search?${String(search)}">${count}</a>`,
    failures,
    p50: formatTime(p50),
    p95: formatTime(p95),
    'max. queries': queries
  }).map(([label, one]) => html`<td class="number" data-label="${label}">${count > 0 && one}</td>`)
  return html`<tr${failures > 0 && html` class="has-problem"`}><td class="text">${visibleLine(declared)}\
${otherName}${source !== undefined && html`<div>${declaredAt(source, editor)}</div>`}</td>
<td>${shown}</td>${numbers}
<td>${last.lastStatus !== undefined && statusBadge(last.lastStatus, last.lastOutcome, last.lastFailed)}</td>
<td data-label="try">${tries}</td></tr>`
}

/** The line of a framework that declares all routes is not the place of one of them: its name is. */
function declaredAt (source: string, editor: EditorLink | null): HtmlValue {
  return packageOf(source) ?? placeElement(source, editor)
}
