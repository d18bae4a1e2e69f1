import { declaredPlace } from '../../errors/declared-place.js'
import { similarRoutes } from '../../errors/hints.js'
import type { RequestTrace } from '../../recording/trace.js'
import { triedRoutes } from '../../routing/no-match.js'
import { methodsText } from '../../routing/route-table.js'
import type { Profile, ProfiledRoute } from '../../store/profile.js'
import {
  noteText, pairsTable, pairsSection, placeElement, placeLink, rowsTable, rowsSection, titledSection
} from '../../view/components.js'
import { formatCount, cutText, html, visibleLine, type HtmlValue } from '../../view/text.js'
import type { PanelView, Part } from '../part.js'
import { listOf, type Data } from '../read.js'
import { flattenPaths } from '../section.js'

const ROUTE_COLUMNS = { name: 'Route', methods: 'Methods', pattern: 'Pattern', why: 'Mismatch' }
/** Routes of a hint, and characters of a reason. */
const MAX_ROUTES = 5
const MAX_TEXT = 300

/** The route of the request, or the routes that nearly match. */
export const router: Part<Data> = {
  name: 'router',
  ofRequests: true,
  route: recordRoute,
  panel: {
    label: 'Routing',
    group: 'request',
    always: true,
    problem: (_, { route, status }) => !route && (status === 404 || status === 405),
    render: (data, profile, view) => [matchedRoute(profile, view), nearRoutes(data)]
  },
  overview (data, { route }, { editor }) {
    const near = nearest(data)
    const isShown = route === null && near.length > 0
    return [
      { order: 50, title: 'Handler', value: route?.handler !== undefined && placeElement(route.handler, editor) },
      {
        order: 8,
        title: 'Similar routes',
        column: 'main',
        value: isShown && rowsTable('Similar routes', { name: 'Route', why: 'Mismatch' }, near)
      }
    ]
  },
  toolbar (_, { method, route }, editor) {
    const { name = null, pattern = null, handler = null } = route ?? {}
    const { shown, href } = placeLink(handler ?? '–', editor)
    const where = href === null ? shown : html`<a href="${href}">${shown}</a>`
    // A route without a name is named by its methods and pattern.
    const label = visibleLine(name?.replace(/^[A-Z|]+ (?=\/)/, '') ?? 'no route')
    return {
      order: 20,
      className: 'route',
      title: 'Route',
      head: html`<span class="label long">${method}</span> <span class="name">${label}</span>`,
      facts: { Route: name ?? 'none', Pattern: pattern ?? '–' },
      more: html`<div><dt>Handler</dt><dd>${where}</dd></div>`,
      values: { route: name, pattern, handler }
    }
  },
  toolbarStyle: '.route { --icon: "M0 6h9L6 3l1-2 6 6-6 6-1-2 3-3H0z" }\n',
  hints (data, { route, status }) {
    if (route !== null || (status !== 404 && status !== 405)) return []
    const routes = nearest(data).map(({ methods, pattern, why, source }) => ({
      methods: [methods].flat().map(String),
      pattern: String(pattern),
      why: cutText(String(why), MAX_TEXT),
      ...typeof source === 'string' && { source }
    }))
    if (routes.length === 0) return []
    return [{ ...similarRoutes(routes), order: 10 }]
  },
  comparison: [{
    order: 10,
    name: 'outcome',
    label: 'Status and route',
    values: (_, { status, route, ip }) => ({
      status,
      route: route?.name ?? 'none',
      pattern: route?.pattern,
      handler: route?.handler && placeLink(String(route.handler), null).shown,
      client: ip,
      ...flattenPaths(route?.params, 'parameter')
    })
  }, {}],
  differences: [
    { order: 10, values: (_, { route }) => ({ route: route?.name ?? 'none' }) },
    { order: 50, values: (_, { route }) => flattenPaths(route?.params, 'route parameter') }
  ]
}

function matchedRoute ({ route }: Profile, { editor }: PanelView): HtmlValue {
  if (!route) return titledSection('Matched route', noteText('No route matched.'))
  const { params, handler, ...facts } = route
  const { name, pattern, methods, ...others } = facts
  // A route without a name is named by its methods and pattern.
  const isUnnamed = Array.isArray(methods) && name === `${methodsText(methods)} ${pattern}`
  const shown = isUnnamed ? { route: name, ...others } : facts
  const source = typeof handler === 'string' && html`<p>Handler: ${placeElement(handler, editor)}</p>`
  return [
    titledSection('Matched route', [pairsTable('Matched route', shown), source]),
    pairsSection('Path parameters', params, 'The route has no parameters.')
  ]
}

function nearest ({ tried }: Data): Data[] {
  return listOf(tried).filter(({ isNear }) => isNear === true).slice(0, MAX_ROUTES)
}

function nearRoutes ({ tried, more }: Data): HtmlValue {
  return tried !== undefined && [
    rowsSection('Similar routes', ROUTE_COLUMNS, listOf(tried), 'The application has no routes.'),
    typeof more === 'number' && noteText(`${formatCount(more, 'more route is', 'more routes are')} less similar.`)
  ]
}

/** Records the route of a request, which becomes the `route` of its profile, or why no route matched. */
function recordRoute (trace: RequestTrace): void {
  const { request, recording, declaredRoute: declared, services: { routeTable, mask } } = trace
  // A request may fail before the router listener.
  const route = trace.route ?? routeTable.matchOf(request)
  // As sent: the params panel shows converted values. The handler may change what it receives.
  const params = { ...trace.sentParams ?? route?.params }
  // Undefined for a route that matched: the profile has it in another field.
  recording.collect(router, () => route === null ? nearestTo(trace) : undefined)
  if (route === null) return
  recording.matchedRoute = () => {
    const { controller } = recording
    // A framework that calls controllers has declared the route.
    const handler = controller === null ? declaredLine(declared?.declaredAt) : undefined
    return {
      ...route,
      params: mask.value(params) as ProfiledRoute['params'],
      methods: declared?.methods ?? [request.method],
      ...(controller !== null && { controller }),
      ...(handler !== undefined && { handler })
    }
  }
}

/** The routes that nearly match a request. */
function nearestTo (trace: RequestTrace): Data {
  const { mask } = trace.services
  const { tried, more } = triedRoutes(trace)
  const shown = tried.map(({ route: { name, methods, pattern, declaredAt }, why, isNear }) => {
    const source = isNear ? declaredLine(declaredAt) : undefined
    return { name, methods, pattern, why: mask.text(why), isNear, ...source !== undefined && { source } }
  })
  return { tried: shown, ...(more > 0 && { more }) }
}

function declaredLine (declaredAt: Error | null | undefined): string | undefined {
  if (declaredAt == null) return undefined
  return declaredPlace(declaredAt)?.source
}
