import { note, pairsSection, rows, rowsSection, section } from '../pages/components.js'
import { collectorPanel, isObject, listOf, type Data } from './panel.js'

const OUTCOMES: Readonly<Record<string, string>> = {
  fresh: 'the copy of the client is fresh: 304',
  stale: 'the copy of the client is stale: the whole response',
  failed: 'the precondition failed: 412',
  unconditional: 'the request has no precondition: the whole response'
}
const LINK_COLUMNS = { rel: 'Relation', href: 'Target', attributes: 'Attributes' }

/** What was decided about HTTP caching, and why. */
export const cachePanel = collectorPanel({
  name: 'cache',
  label: 'HTTP cache',
  group: 'delivery',
  problem: ({ outcome }) => outcome === 'failed',
  render: (data) => {
    const {
      outcome, precondition, deferred, private: why, etag, lastModified, cacheControl, expires, vary, ...others
    } = data
    return pairsSection('Decision', {
      outcome: OUTCOMES[String(outcome)] ?? outcome,
      precondition: precondition ?? 'none',
      ...(deferred === true && { 'evaluated after': 'the security of the route' }),
      ...(typeof why === 'string' && { 'private because': why }),
      ...others
    }) + pairsSection('Headers', {
      ETag: etag ?? 'none',
      'Last-Modified': lastModified ?? 'none',
      'Cache-Control': cacheControl ?? 'none',
      Expires: expires ?? 'none',
      Vary: vary ?? 'none'
    })
  }
})

/** The links of the `Link` header, and what added them. */
export const linksPanel = collectorPanel({
  name: 'links',
  label: 'Links',
  group: 'delivery',
  count: ({ route, added }) => listOf(route).length + listOf(added).length,
  render: ({ route, added, earlyHints }) => {
    const hints = Array.isArray(earlyHints) ? earlyHints.map((value) => ({ value })) : []
    return section('Declared by the route', linkTable('Declared by the route', route)) +
      section('Added while the request was handled', linkTable('Added', added)) +
      section('Sent as early hints (103)',
        hints.length === 0 ? note('None.') : rows('Early hints', { value: 'Link' }, hints))
  }
})

function linkTable (label: string, links: unknown): string {
  return rows(label, LINK_COLUMNS, listOf(links).map((link): Data => ({
    ...link,
    attributes: Object.entries(isObject(link.attributes) ? link.attributes : {}).map(([name, value]) =>
      value === true ? name : `${name}=${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
  })))
}

/** The front-end assets of the page. */
export const assetsPanel = collectorPanel({
  name: 'assets',
  label: 'Assets',
  group: 'delivery',
  count: ({ rendered }) => Array.isArray(rendered) ? rendered.length : undefined,
  render: ({ rendered, ...source }) => {
    // Each is stored as "kind file".
    const files = (Array.isArray(rendered) ? rendered.map(String) : []).map((asset) => {
      const [, kind = '', file = ''] = /^(?:(\S*) )?(.*)$/s.exec(asset) ?? []
      return { kind, file }
    })
    return rowsSection('Rendered', { kind: 'Kind', file: 'File' }, files, 'None was rendered.') +
      pairsSection('Source', source)
  }
})
