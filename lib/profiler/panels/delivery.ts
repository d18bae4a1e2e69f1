import { fields, rowsSection } from '../pages/components.js'
import { collectorPanel, isObject, listOf, type Data, type Panel } from './panel.js'

const OUTCOMES: Readonly<Record<string, string>> = {
  fresh: 'the copy of the client is fresh: 304',
  stale: 'the copy of the client is stale: the whole response',
  unconditional: 'the request has no precondition: the whole response'
}
const LINK_COLUMNS = { rel: 'Relation', href: 'Target', attributes: 'Attributes' }

/** What the response carries for caches and for the page: HTTP caching, links and front-end assets. */
export const deliveryPanels: readonly Panel[] = [
  collectorPanel('cache', 'HTTP cache', 'delivery', {
    render: (data) => fields('Decision', { ...data, outcome: OUTCOMES[String(data.outcome)] ?? data.outcome })
  }),

  collectorPanel('links', 'Links', 'delivery', {
    count: ({ route, added }) => listOf(route).length + listOf(added).length,
    render: ({ route, added }) =>
      linksSection('Declared by the route', route) + linksSection('Added while the request was handled', added)
  }),

  collectorPanel('assets', 'Assets', 'delivery', {
    count: ({ rendered }) => Array.isArray(rendered) ? rendered.length : undefined,
    render: ({ rendered, ...source }) => {
      // Each is stored as "kind file".
      const files = (Array.isArray(rendered) ? rendered.map(String) : []).map((asset) => {
        const [, kind = '', file = ''] = /^(?:(\S*) )?(.*)$/s.exec(asset) ?? []
        return { kind, file }
      })
      return rowsSection('Rendered', { kind: 'Kind', file: 'File' }, files, 'None was rendered.') +
        fields('Source', source)
    }
  })
]

function linksSection (title: string, links: unknown): string {
  return rowsSection(title, LINK_COLUMNS, listOf(links).map((link): Data => ({
    ...link,
    attributes: Object.entries(isObject(link.attributes) ? link.attributes : {}).map(([name, value]) =>
      value === true ? name : `${name}=${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
  })))
}
