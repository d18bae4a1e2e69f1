import { fields, pairsSection, rowsSection } from '../pages/components.js'
import { createPanel, listOf, type Panel } from './panel.js'

const LINK_COLUMNS = { rel: 'Relation', href: 'Target', attributes: 'Attributes' }

/** What the response carries for caches and for the page: HTTP caching, links and front-end assets. */
export const deliveryPanels: readonly Panel[] = [
  createPanel('cache', 'HTTP cache', 'delivery', { render: (data) => fields('Decision', data) }),

  createPanel('links', 'Links', 'delivery', {
    render: ({ route, added }) =>
      rowsSection('Declared by the route', LINK_COLUMNS, listOf(route)) +
      rowsSection('Added while the request was handled', LINK_COLUMNS, listOf(added))
  }),

  createPanel('assets', 'Assets', 'delivery', {
    // A rendered asset is stored as its kind and its file.
    render: ({ rendered, ...source }) =>
      pairsSection('Rendered', { files: rendered ?? [] }) + fields('Source', source)
  })
]
