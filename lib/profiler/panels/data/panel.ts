import { failed, json } from '../../pages/components.js'
import { failureOf } from '../panel.js'
import type { Panel } from '../panel.js'

/** Shows a collector that has no panel of its own. */
export function dataPanel (collector: string): Panel {
  return {
    name: collector,
    label: collector.charAt(0).toUpperCase() + collector.slice(1),
    group: 'application',
    problem: profile => failureOf(profile, collector) !== undefined,
    render: profile => {
      const failure = failureOf(profile, collector)
      return failure === undefined ? json(profile.collectors[collector]) : failed(failure)
    }
  }
}
