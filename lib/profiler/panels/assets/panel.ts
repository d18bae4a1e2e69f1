import { failed, pairs, rows, section } from '../../pages/components.js'
import { dataOf, failureOf } from '../panel.js'
import type { Panel } from '../panel.js'

/** Which front-end assets the page brought, each once. */
export const assetsPanel: Panel = {
  name: 'assets',
  label: 'Assets',
  group: 'delivery',
  count: (profile) => {
    const { rendered } = dataOf(profile, 'assets')
    return Array.isArray(rendered) ? rendered.length : undefined
  },
  problem: (profile) => failureOf(profile, 'assets') !== undefined,
  render: (profile) => {
    const failure = failureOf(profile, 'assets')
    if (failure !== undefined) return failed(failure)
    const { rendered, ...source } = dataOf(profile, 'assets')
    const tags = Array.isArray(rendered) ? rendered.map(tagOf) : []
    return section('Rendered', rows('Rendered', { kind: 'Kind', file: 'File' }, tags, 'None was rendered.')) +
      section('Source', pairs('Source', source))
  }
}

// Kept as `kind file`, so that none is rendered twice.
function tagOf (key: unknown): { kind: string, file: string } {
  const [kind = '', ...file] = String(key).split(' ')
  return file.length === 0 ? { kind: '', file: kind } : { kind, file: file.join(' ') }
}
