import { counted } from '../../view/counted.js'
import { html } from '../../view/html.js'
import { failed, fields, note, pairs, pairsSection, place, rows, rowsSection, section } from '../pages/components.js'
import type { Profile } from '../profile.js'
import { collectorPanel, dataOf, failureOf, isObject, listOf, onlyErrors, PLAIN_VIEW } from './panel.js'
import type { Data, Panel, PanelView } from './panel.js'

const ROUTE_COLUMNS = { name: 'Route', methods: 'Methods', pattern: 'Pattern', why: 'Mismatch' }
const PARAM_COLUMNS = { name: 'Parameter', sent: 'Sent value', converter: 'Converter', value: 'Converted value' }

/** The route of the request, and what it declares. */
export const routingPanels: readonly Panel[] = [
  {
    name: 'router',
    label: 'Routing',
    group: 'routing',
    always: true,
    problem: ({ route, status }) => !route && (status === 404 || status === 405),
    render: (profile, view = PLAIN_VIEW) => matchedRoute(profile, view) + triedRoutes(profile)
  },

  collectorPanel('attributes', 'Attributes', 'routing', {
    count: (data) => Object.keys(declared(data)).length,
    render: (data) => pairsSection('Declared by the route', declared(data))
  }),

  // The path parameters before and after their conversion.
  collectorPanel('params', 'Parameters', 'routing', {
    count: (data) => Object.keys(data).length,
    problems: (data) => onlyErrors(conversionsOf(data).filter(isFailed)),
    render: (data) => {
      const conversions = conversionsOf(data).map((conversion) => isFailed(conversion)
        ? { ...conversion, value: 'none: this conversion or one before it failed' }
        : conversion)
      return rowsSection('Conversions', PARAM_COLUMNS, conversions, 'No path parameter was converted.')
    }
  }),

  collectorPanel('template', 'Template', 'routing', { render: (data) => fields('Rendered', data) }),

  collectorPanel('pagination', 'Pagination', 'routing', {
    problem: ({ page, pages }) => typeof page === 'number' && typeof pages === 'number' && page > pages,
    render: (data) => fields('Page', data)
  }),

  collectorPanel('locale', 'Locale', 'routing', { render: (data) => fields('Locale', data) })
]

function matchedRoute ({ route }: Profile, { editor }: PanelView): string {
  if (!route) return section('Matched route', note('No route matched.'))
  const { params, handler, ...facts } = route
  const source = typeof handler === 'string' ? html`<p>Handler: !${place(handler, editor)}</p>` : ''
  return section('Matched route', pairs('Matched route', facts) + source) +
    pairsSection('Path parameters', params, 'The route has no parameters.')
}

function triedRoutes (profile: Profile): string {
  const failure = failureOf(profile, 'router')
  if (failure !== undefined) return failed(failure)
  const { tried, more } = dataOf(profile, 'router')
  const title = 'Similar routes'
  const table = rows(title, ROUTE_COLUMNS, listOf(tried), 'The application has no routes.')
  return (tried === undefined ? '' : section(title, table)) +
    (typeof more === 'number' ? note(`${counted(more, 'more route is', 'more routes are')} less similar.`) : '')
}

function declared (data: Data): Data {
  return Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null && value !== undefined))
}

function conversionsOf (data: Data): Data[] {
  return Object.entries(data).flatMap(([name, value]) => isObject(value) ? [{ name, ...value }] : [])
}

function isFailed ({ value, sent }: Data): boolean {
  return value === undefined && sent !== null && sent !== undefined
}
