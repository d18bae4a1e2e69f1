import { failed, note, rows, section } from '../../pages/components.js'
import { dataOf, failureOf, isObject, listOf } from '../panel.js'
import type { Data, Panel } from '../panel.js'

const COLUMNS = { rel: 'Relation', href: 'Target', attributes: 'Attributes' }

/** Which links the response carries in its `Link` header, and who gave them. */
export const linksPanel: Panel = {
  name: 'links',
  label: 'Links',
  group: 'delivery',
  count: (profile) => listOf(dataOf(profile, 'links').route).length + listOf(dataOf(profile, 'links').added).length,
  problem: (profile) => failureOf(profile, 'links') !== undefined,
  render: (profile) => {
    const failure = failureOf(profile, 'links')
    if (failure !== undefined) return failed(failure)
    const { route, added, earlyHints } = dataOf(profile, 'links')
    const hints = Array.isArray(earlyHints) ? earlyHints.map((value) => ({ value })) : []
    return section('Declared by the route', rows('Declared by the route', COLUMNS, listOf(route).map(readable), 'The route declares none.')) +
      section('Added while the request was handled', rows('Added', COLUMNS, listOf(added).map(readable), 'None was added.')) +
      section('Sent ahead as early hints (103)', hints.length === 0 ? note('None.') : rows('Early hints', { value: 'Link' }, hints))
  }
}

function readable ({ attributes, ...link }: Data): Data {
  const texts = isObject(attributes) ? Object.entries(attributes).map(([name, value]) => value === true ? name : `${name}=${typeof value === 'object' ? JSON.stringify(value) : String(value)}`) : []
  return { ...link, attributes: texts }
}
