import { failed, lead, note, pairs, section } from '../../pages/components.js'
import { dataOf, failureOf, isObject } from '../panel.js'
import type { Panel } from '../panel.js'

const VERDICTS: Readonly<Record<string, string>> = { true: 'The page of the other origin may read the answer.', false: 'The page of the other origin may not read the answer.' }

/** Whether the page of another origin may read the answer, and by which rule. */
export const corsPanel: Panel = {
  name: 'cors',
  label: 'CORS',
  group: 'security',
  problem: profile => failureOf(profile, 'cors') !== undefined || dataOf(profile, 'cors').allowed === false,
  render: profile => {
    const failure = failureOf(profile, 'cors')
    if (failure !== undefined) return failed(failure)
    const { allowed, why, origin, preflight, rule, wanted, headers } = dataOf(profile, 'cors')
    return lead(VERDICTS[String(allowed)] ?? 'The question did not come up.', allowed === true ? 'good' : allowed === false ? 'bad' : 'plain') + section('Verdict', pairs('Verdict', {
      allowed: allowed === true ? 'yes' : allowed === false ? 'no' : 'not asked', why, origin: origin ?? 'none', preflight: preflight === true ? 'yes' : 'no'
    })) +
      (isObject(wanted) ? section('The preflight asks for', pairs('The preflight asks for', wanted)) : '') +
      section('Rule', isObject(rule) ? pairs('Rule', rule) : note('No rule holds for this path.')) +
      section('Headers given', pairs('Headers given', headers, 'None.'))
  }
}
