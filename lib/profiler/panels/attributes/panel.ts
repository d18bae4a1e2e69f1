import { failed, pairs, section } from '../../pages/components.js'
import { dataOf, failureOf } from '../panel.js'
import type { Panel } from '../panel.js'

/** What the route declares of itself, as the controller attribute reader found it. */
export const attributesPanel: Panel = {
  name: 'attributes',
  label: 'Attributes',
  group: 'handling',
  count: (profile) => Object.values(dataOf(profile, 'attributes')).filter((value) => value !== null && value !== undefined).length,
  problem: (profile) => failureOf(profile, 'attributes') !== undefined,
  render: (profile) => {
    const failure = failureOf(profile, 'attributes')
    if (failure !== undefined) return failed(failure)
    const declared = Object.fromEntries(Object.entries(dataOf(profile, 'attributes')).filter(([, value]) => value !== null && value !== undefined))
    return section('Declared by the route', pairs('Declared by the route', declared, 'The route declares none.'))
  }
}
