import { failed, milliseconds, pairs, section } from '../../pages/components.js'
import { dataOf, failureOf } from '../panel.js'
import type { Panel } from '../panel.js'

/** Which template was rendered, how long that took, and which variables it was given. */
export const templatePanel: Panel = {
  name: 'template',
  label: 'Template',
  group: 'handling',
  problem: (profile) => failureOf(profile, 'template') !== undefined,
  render: (profile) => {
    const failure = failureOf(profile, 'template')
    if (failure !== undefined) return failed(failure)
    const { name, duration, variables, ...others } = dataOf(profile, 'template')
    return section('Rendered', pairs('Rendered', { template: name, 'time to render': milliseconds(duration), variables, ...others }))
  }
}
