import { failed, pairs, section } from '../../pages/components.js'
import { dataOf, failureOf } from '../panel.js'
import type { Panel } from '../panel.js'

/** Where the request stands in a distributed trace (W3C Trace Context). */
export const tracePanel: Panel = {
  name: 'trace',
  label: 'Trace',
  group: 'around',
  problem: (profile) => failureOf(profile, 'trace') !== undefined,
  render: (profile) => {
    const failure = failureOf(profile, 'trace')
    if (failure !== undefined) return failed(failure)
    const { traceId, parentId, spanId, sampled, ...others } = dataOf(profile, 'trace')
    return section('Trace', pairs('Trace', {
      trace: traceId,
      'span of this request': spanId,
      'span of its caller': parentId,
      sampled: sampled === true ? 'yes' : 'no',
      ...others
    }))
  }
}
