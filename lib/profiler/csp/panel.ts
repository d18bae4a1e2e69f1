import { note, pairsSection, rows, section } from '../pages/components.js'
import { collectorPanel, dataOf, isObject, listOf, type Data } from '../panels/panel.js'
import type { Profile } from '../profile.js'

const HEADERS = {
  'content-security-policy': 'Enforced', 'content-security-policy-report-only': 'Reported only'
}
const VIOLATION_COLUMNS = { directive: 'Directive', blocked: 'Blocked', source: 'Source', count: 'Count' }
const DIRECTIVE_COLUMNS = { name: 'Directive', sources: 'Sources' }

/** The policies of the response by directive, and the violations that browsers have reported. */
export const cspPanel = collectorPanel('csp', 'Content Security Policy', 'security', {
  count: ({ violations }) => listOf(violations).length || undefined,
  problems: ({ violations }) => ({ errors: 0, warnings: listOf(violations).length }),
  render: (csp, profile) => {
    const { ofRoute, ofDiagnosticPage, nonces } = csp
    const origin = ofDiagnosticPage === true
      ? 'the diagnostic page, which has its own policy'
      : Array.isArray(ofRoute) && ofRoute.length > 0 ? `the route itself (${ofRoute.join(', ')})` : 'the options'
    const policies = Object.entries(HEADERS).map(([name, title]) => policySections(name, title, profile)).join('')
    return violationSection(csp) +
      pairsSection('Policy', { source: origin, 'nonces used in': nonces }) +
      (policies || note('The response has no policy: it is a redirect, or a 304 for which the stored policy applies.'))
  }
})

function violationSection (csp: Data): string {
  const violations = listOf(csp.violations)
  if (violations.length === 0) return ''
  const shown = violations.map(({ disposition, count, ...violation }) =>
    ({ ...violation, count: disposition === 'report' ? `${count}, not blocked` : count }))
  return section('Blocked by Content Security Policy', rows('Violations', VIOLATION_COLUMNS, shown))
}

function policySections (name: string, title: string, profile: Profile): string {
  const { headers } = dataOf(profile, 'response')
  const values = isObject(headers) ? [headers[name] ?? []].flat() : []
  return values.flatMap((value) => String(value).split(',')).map((policy) =>
    section(title, rows(title, DIRECTIVE_COLUMNS, directivesOf(policy), 'An empty policy allows everything.'))).join('')
}

function directivesOf (policy: string): Data[] {
  return policy.split(';').map((part) => part.trim()).filter((part) => part !== '').map((part) => {
    const [name = '', ...sources] = part.split(/\s+/)
    return { name, sources: sources.join(' ') || 'none' }
  })
}
