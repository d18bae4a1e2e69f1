import { counted } from '../../view/counted.js'
import { failed, milliseconds, note, pairsSection, rows, rowsSection, section } from '../pages/components.js'
import type { Profile } from '../profile.js'
import { collectorPanel, dataOf, failureOf, isObject, listOf, type Data, type Panel } from './panel.js'

const ROUTE_COLUMNS = {
  name: 'Route', methods: 'Methods', pattern: 'Pattern', why: 'Why not', distance: 'Distance'
}
const PARAM_COLUMNS = { name: 'Parameter', sent: 'Sent value', converter: 'Converter', value: 'Value of the handler' }
const LOCALE_SOURCES: Readonly<Record<string, string>> = {
  default: 'the default', route: 'the parameter _locale of the route', 'accept-language': 'Accept-Language'
}

/** The route that matched, and why the others did not. */
export const routerPanel: Panel = {
  name: 'router',
  label: 'Routing',
  group: 'handling',
  always: true,
  problem: ({ route, status }) => !route && (status === 404 || status === 405),
  render: (profile) => matchedRoute(profile) + triedRoutes(profile)
}

function matchedRoute ({ route }: Profile): string {
  if (!route) return section('Matched route', note('No route matched.'))
  const { params, ...facts } = route
  return pairsSection('Matched route', facts) +
    pairsSection('Path parameters', params, 'The route has no parameters.')
}

function triedRoutes (profile: Profile): string {
  const failure = failureOf(profile, 'router')
  if (failure !== undefined) return failed(failure)
  const { matched: _matched, tried, more, ...others } = dataOf(profile, 'router')
  const title = 'Routes that were tried, the nearest first'
  const table = rows(title, ROUTE_COLUMNS, listOf(tried), 'The application has no routes.')
  return (tried === undefined ? '' : section(title, table)) +
    (typeof more === 'number' ? note(`${counted(more, 'more route is', 'more routes are')} further away.`) : '') +
    (Object.keys(others).length === 0 ? '' : pairsSection('Router', others))
}

/** What the route declares, as the controller attribute reader found it. */
export const attributesPanel = collectorPanel({
  name: 'attributes',
  label: 'Attributes',
  group: 'handling',
  count: (data) => Object.keys(declared(data)).length,
  render: (data) => pairsSection('Declared by the route', declared(data), 'None.')
})

function declared (data: Data): Data {
  return Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null && value !== undefined))
}

/** The path parameters before and after their conversion. */
export const paramsPanel = collectorPanel({
  name: 'params',
  label: 'Parameters',
  group: 'handling',
  count: (data) => Object.keys(data).length,
  problem: (data) => conversionsOf(data).some(isFailed),
  render: (data) => {
    const conversions = conversionsOf(data).map((conversion) => isFailed(conversion)
      ? { ...conversion, value: 'none: this conversion or one before it failed' }
      : conversion)
    return rowsSection('Conversions', PARAM_COLUMNS, conversions, 'The route converts none.')
  }
})

function conversionsOf (data: Data): Data[] {
  return Object.entries(data).flatMap(([name, value]) => isObject(value) ? [{ name, ...value }] : [])
}

function isFailed ({ value, sent }: Data): boolean {
  return value === undefined && sent !== null && sent !== undefined
}

/** The template that was rendered, its duration and its variables. */
export const templatePanel = collectorPanel({
  name: 'template',
  label: 'Template',
  group: 'handling',
  render: ({ name, duration, variables, ...others }) => pairsSection('Rendered', {
    template: name, duration: milliseconds(duration), variables, ...others
  })
})

/** The requested page, and what the route allows. */
export const paginationPanel = collectorPanel({
  name: 'pagination',
  label: 'Pagination',
  group: 'handling',
  problem: ({ page, pages }) => typeof page === 'number' && typeof pages === 'number' && page > pages,
  render: (data) => {
    const { page, limit, offset, sort, direction, total, pages, fields, sortable, maxLimit, ...others } = data
    return pairsSection('Page', {
      page: pages === undefined ? page : `${String(page)} of ${String(pages)}`,
      limit,
      offset,
      'total items': total ?? 'unknown',
      'sorted by': typeof sort === 'string' ? `${sort}, ${String(direction)}` : 'none',
      ...others
    }) + pairsSection('Allowed by the route', {
      'maximum limit': maxLimit,
      'sortable by': sortable,
      ...(isObject(fields) && { 'query fields': Object.values(fields).map(String) })
    })
  }
})

/** The locale of the request, and what decided it. */
export const localePanel = collectorPanel({
  name: 'locale',
  label: 'Locale',
  group: 'handling',
  render: ({ locale, source, default: fallback, enabled, acceptLanguage, services }) => {
    const { enabled: isRead, header } = isObject(acceptLanguage) ? acceptLanguage : {}
    return pairsSection('Locale', {
      locale,
      'decided by': LOCALE_SOURCES[String(source)] ?? source,
      default: fallback,
      'enabled locales': Array.isArray(enabled) && enabled.length === 0 ? 'any' : enabled,
      'Accept-Language': `${typeof header === 'string' ? header : 'not sent'}${isRead === true ? '' : ' (not read)'}`,
      services
    })
  }
})
