import { failed, pairs, section } from '../../pages/components.js'
import { dataOf, failureOf, isObject } from '../panel.js'
import type { Panel } from '../panel.js'

/** Which page was asked for, and what the route allows. */
export const paginationPanel: Panel = {
  name: 'pagination',
  label: 'Pagination',
  group: 'handling',
  problem: profile => {
    const { page, pages } = dataOf(profile, 'pagination')
    return failureOf(profile, 'pagination') !== undefined || (typeof page === 'number' && typeof pages === 'number' && page > pages)
  },
  render: profile => {
    const failure = failureOf(profile, 'pagination')
    if (failure !== undefined) return failed(failure)
    const { page, limit, offset, sort, direction, total, pages, fields, sortable, maxLimit, ...others } = dataOf(profile, 'pagination')
    const order = typeof sort === 'string' ? `${sort}, ${String(direction)}` : 'none'
    return section('Page', pairs('Page', {
      page: pages === undefined ? page : `${String(page)} of ${String(pages)}`,
      'items of a page': limit,
      'items ahead': offset,
      'items altogether': total ?? 'not told',
      'sorted by': order,
      ...others
    })) + section('What the route allows', pairs('What the route allows', {
      'largest page': maxLimit, 'sortable by': sortable, ...(isObject(fields) && { 'fields of the query': Object.values(fields).map(String) })
    }))
  }
}
