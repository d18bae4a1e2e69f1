import type { Profile } from '../../profile.js'
import { failed, note, pairs, section } from '../../ui/components.js'
import { dataOf, failureOf } from '../panel.js'
import type { Panel } from '../panel.js'

/** Which route answered, and what the router knew. */
export const routerPanel: Panel = {
  name: 'router',
  label: 'Routing',
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
  const data = dataOf(profile, 'router')
  return Object.keys(data).length === 0 ? '' : section('Router', pairs('Router', data))
}
