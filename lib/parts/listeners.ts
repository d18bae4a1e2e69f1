import {
  definePart, fieldsPart, isObject, listOf, pairsSection, rowsSection, type Data
} from 'fastify-hindsight/recorder'

const LINK_COLUMNS = { rel: 'Relation', href: 'Target', attributes: 'Attributes' }
const PARAM_COLUMNS = { name: 'Parameter', sent: 'Sent value', converter: 'Converter', value: 'Converted value' }
const FAILED = 'none: this conversion or one before it failed'

/** What the route declares for the listeners. */
export const attributes = definePart<() => unknown>({
  name: 'attributes',
  panel: {
    label: 'Attributes',
    group: 'request',
    render: (data) => pairsSection('Declared by the route',
      Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null)))
  }
})

/** The path parameters before and after their conversion. */
export const params = definePart<() => unknown>({
  name: 'params',
  from: 'request',
  panel: {
    label: 'Parameters',
    group: 'request',
    problem: (data) => conversionsOf(data).filter(({ value }) => value === FAILED).length,
    render: (data) =>
      rowsSection('Conversions', PARAM_COLUMNS, conversionsOf(data), 'No path parameter was converted.')
  }
})

export const template = fieldsPart('template', 'Template', 'hooks', 'Rendered')

export const pagination = fieldsPart('pagination', 'Pagination', 'request', 'Page', {
  from: 'request',
  panel: { problem: ({ page, pages }) => typeof pages === 'number' && Number(page) > pages }
})

export const locale = fieldsPart('locale', 'Locale', 'request', 'Locale', { from: 'request' })

export const cache = fieldsPart('cache', 'HTTP cache', 'hooks', 'Decision', { from: 'request' })

export const links = definePart<() => unknown>({
  name: 'links',
  panel: {
    label: 'Links',
    group: 'hooks',
    render: ({ route, added }) => [
      rowsSection('Declared by the route', LINK_COLUMNS, listOf(route)),
      rowsSection('Added while the request was handled', LINK_COLUMNS, listOf(added))
    ]
  }
})

export const assets = fieldsPart('assets', 'Assets', 'hooks', 'Used')

function conversionsOf (data: Data): Data[] {
  return Object.entries(data).flatMap(([name, conversion]) => {
    if (!isObject(conversion)) return []
    const { sent, value } = conversion
    const isFailed = value === undefined && sent !== null && sent !== undefined
    return [{ name, ...conversion, ...isFailed && { value: FAILED } }]
  })
}
