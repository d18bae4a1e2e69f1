import { pairsSection, rowsSection } from '../pages/components.js'
import { collectorPanel, dataOf, isObject, listOf } from '../panels/panel.js'
import type { Profile } from '../profile.js'

const VIOLATION_COLUMNS = {
  directive: 'Directive', blocked: 'Blocked', source: 'Source', disposition: 'Disposition', count: 'Count'
}

/** The policies of the response, and the violations that browsers have reported. */
export const cspPanel = collectorPanel('csp', 'Content Security Policy', 'security', {
  problems: ({ violations }) => ({ errors: 0, warnings: listOf(violations).length }),
  render: ({ violations, ofRoute, ofDiagnosticPage, nonces }, profile) =>
    (listOf(violations).length === 0
      ? ''
      : rowsSection('Blocked by Content Security Policy', VIOLATION_COLUMNS, listOf(violations))) +
    pairsSection('Policy', {
      'set by the route': ofRoute ?? [],
      'of the diagnostic page': ofDiagnosticPage === true ? 'yes' : 'no',
      'nonces used in': nonces ?? [],
      ...policiesOf(profile)
    })
})

function policiesOf (profile: Profile): Record<string, unknown> {
  const { headers } = dataOf(profile, 'response')
  const policies = Object.entries(isObject(headers) ? headers : {})
    .filter(([name]) => name.startsWith('content-security-policy'))
    .map(([name, value]) => [name, [value].flat().flatMap((policy) => String(policy).split(/(?<=[;,])\s*/))])
  return Object.fromEntries(policies)
}
