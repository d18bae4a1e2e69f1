import { counted } from '../../view/counted.js'
import { html } from '../../view/html.js'
import { fields, note, pairs, pairsSection, place, rowsSection, section } from '../../view/components.js'
import type { Profile } from '../../profiler/profile.js'
import { createPanel, isObject, listOf, type Data, type Panel, type PanelView } from '../part.js'

const ROUTE_COLUMNS = { name: 'Route', methods: 'Methods', pattern: 'Pattern', why: 'Mismatch' }
const PARAM_COLUMNS = { name: 'Parameter', sent: 'Sent value', converter: 'Converter', value: 'Converted value' }

/** The route of the request, and what it declares. */
export const routingPanels: readonly Panel[] = [
  createPanel('router', 'Routing', 'routing', {
    always: true,
    errors: (_, { route, status }) => !route && (status === 404 || status === 405),
    render: (data, profile, view) => matchedRoute(profile, view) + similarRoutes(data)
  }),

  createPanel('attributes', 'Attributes', 'routing', {
    render: (data) => pairsSection('Declared by the route',
      Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null)))
  }),

  // The path parameters before and after their conversion.
  createPanel('params', 'Parameters', 'routing', {
    errors: (data) => conversionsOf(data).filter(({ value }) => value === FAILED).length,
    render: (data) =>
      rowsSection('Conversions', PARAM_COLUMNS, conversionsOf(data), 'No path parameter was converted.')
  }),

  createPanel('template', 'Template', 'routing', { render: (data) => fields('Rendered', data) }),

  createPanel('pagination', 'Pagination', 'routing', {
    errors: ({ page, pages }) => typeof pages === 'number' && Number(page) > pages,
    render: (data) => fields('Page', data)
  }),

  createPanel('locale', 'Locale', 'routing', { render: (data) => fields('Locale', data) })
]

function matchedRoute ({ route }: Profile, { editor }: PanelView): string {
  if (!route) return section('Matched route', note('No route matched.'))
  const { params, handler, ...facts } = route
  const source = typeof handler === 'string' ? html`<p>Handler: !${place(handler, editor)}</p>` : ''
  return section('Matched route', pairs('Matched route', facts) + source) +
    pairsSection('Path parameters', params, 'The route has no parameters.')
}

function similarRoutes ({ tried, more }: Data): string {
  if (tried === undefined) return ''
  return rowsSection('Similar routes', ROUTE_COLUMNS, listOf(tried), 'The application has no routes.') +
    (typeof more === 'number' ? note(`${counted(more, 'more route is', 'more routes are')} less similar.`) : '')
}

const FAILED = 'none: this conversion or one before it failed'

function conversionsOf (data: Data): Data[] {
  return Object.entries(data).flatMap(([name, conversion]) => {
    if (!isObject(conversion)) return []
    const { sent, value } = conversion
    const isFailed = value === undefined && sent !== null && sent !== undefined
    return [{ name, ...conversion, ...isFailed && { value: FAILED } }]
  })
}
