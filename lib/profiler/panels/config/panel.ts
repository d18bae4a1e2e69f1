import { configurationOf } from '../../configuration.js'
import { failed, fold, json, note, pairs, section } from '../../pages/components.js'
import { dataOf, failureOf } from '../panel.js'
import type { Panel } from '../panel.js'

/** What the application was made of: from the profile in short, whole as long as the application runs in this process. */
export const configPanel: Panel = {
  name: 'config',
  label: 'Configuration',
  group: 'around',
  problem: profile => failureOf(profile, 'config') !== undefined,
  render: profile => {
    const failure = failureOf(profile, 'config')
    if (failure !== undefined) return failed(failure)
    const { id, ...summary } = dataOf(profile, 'config')
    const whole = configurationOf(id)
    if (whole === null) {
      return section('Versions', pairs('Versions', summary)) + note('The application that wrote this profile does not run in this process any more, or its configuration has changed since; a profile keeps no more of it than this.')
    }
    return [
      section('Versions', pairs('Versions', { ...whole.versions, mode: summary.mode })),
      section('Options of Hindsight', pairs('Options of Hindsight', whole.hindsight, 'All by default.')),
      section('Options of Fastify', pairs('Options of Fastify', whole.fastify)),
      section('Dependencies', fold('Dependencies', pairs('Dependencies', whole.dependencies), sizeOf(whole.dependencies))),
      section('Plugins', fold('Tree of plugins, in the order in which they were loaded', json(whole.plugins))),
      section('Environment', fold('Environment', pairs('Environment', whole.environment, 'It is empty.'), sizeOf(whole.environment)))
    ].join('')
  }
}

function sizeOf (data: unknown): number | undefined {
  return typeof data === 'object' && data !== null ? Object.keys(data).length : undefined
}
