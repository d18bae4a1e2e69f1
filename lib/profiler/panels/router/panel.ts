import type { Profile } from '../../profile.js'
import { failed, note, pairs, rows, section } from '../../pages/components.js'
import { dataOf, failureOf, listOf } from '../panel.js'
import type { Panel } from '../panel.js'
import { counted } from '../../../view/counted.js'

const COLUMNS = { name: 'Route', methods: 'Methods', pattern: 'Pattern', why: 'Why not', distance: 'Distance' }

/** Which route answered, and why the others did not. */
export const routerPanel: Panel = {
  name: 'router',
  label: 'Routing',
  group: 'handling',
  always: true,
  problem: ({ route, status }) => !route && (status === 404 || status === 405),
  render: profile => match(profile) + collected(profile)
}

function match ({ route }: Profile): string {
  if (!route) return section('Matched route', note('No route matched.'))
  const { params, ...rest } = route
  return section('Matched route', pairs('Matched route', rest)) +
    section('Path parameters', pairs('Path parameters', params, 'The route has no parameters.'))
}

function collected (profile: Profile): string {
  const failure = failureOf(profile, 'router')
  if (failure !== undefined) return failed(failure)
  const { matched: _matched, tried, more, ...others } = dataOf(profile, 'router')
  const title = profile.route ? 'Other routes for this path' : 'Routes that were tried, the nearest first'
  return (tried === undefined ? '' : section(title, rows(title, COLUMNS, listOf(tried), 'The application has no routes.'))) +
    (typeof more === 'number' ? note(`${counted(more, 'more route is', 'more routes are')} further away.`) : '') +
    (Object.keys(others).length === 0 ? '' : section('Router', pairs('Router', others)))
}
