import { html } from '../../../view/html.js'
import type { Profile } from '../../profile.js'
import { failed, note, pairs, rows, section } from '../../pages/components.js'
import { optionOf } from '../../csp-reports/attach.js'
import type { CspViolation } from '../../csp-reports/read-report.js'
import { dataOf, failureOf, isObject, listOf, type Data } from '../panel.js'
import type { Panel } from '../panel.js'
import { directivesOf } from './words.js'

const HEADERS = { 'content-security-policy': 'Enforced', 'content-security-policy-report-only': 'Reported only' }
const VIOLATION = { directive: 'Directive', blocked: 'Blocked', source: 'Where', allow: 'What would allow it', count: 'Times' }
const COLUMNS = { name: 'Directive', sources: 'As it was sent', words: 'What it allows' }

/** The policies that went out, directive by directive, in words. */
export const cspPanel: Panel = {
  name: 'csp',
  label: 'Content Security Policy',
  group: 'security',
  count: profile => listOf(dataOf(profile, 'csp').violations).length || undefined,
  problem: profile => failureOf(profile, 'csp') !== undefined || listOf(dataOf(profile, 'csp').violations).length > 0,
  render: profile => {
    const failure = failureOf(profile, 'csp')
    if (failure !== undefined) return failed(failure)
    const { ofRoute, ofDiagnosticPage, nonces } = dataOf(profile, 'csp')
    const found = Object.entries(HEADERS).map(([name, title]) => policies(name, title, profile)).join('')
    return reported(dataOf(profile, 'csp')) + section('Origin', pairs('Origin', {
      'composed from': ofDiagnosticPage === true ? 'the diagnostic page, which has a policy of its own' : Array.isArray(ofRoute) && ofRoute.length > 0 ? `the route itself (${ofRoute.join(', ')})` : 'the options',
      'nonces drawn for': nonces
    })) + (found === '' ? note('The response carries no policy: a redirect, or one that leaves that of the stored page.') : found)
  }
}

// What a browser has reported of the page, each with what would allow it.
function reported (csp: Data): string {
  const violations = listOf(csp.violations)
  if (violations.length === 0) return ''
  const shown = violations.map(({ directive, blocked, source, sample, count, disposition, allow, decidedBy }) => ({
    directive: decidedBy === directive ? directive : `${String(directive)}, by ${String(decidedBy)}`,
    blocked: sample === undefined ? blocked : `${String(blocked)}: ${String(sample)}`,
    source: source ?? 'not told',
    allow: `${String(allow)} in ${optionOf({ disposition, decidedBy } as CspViolation, csp)}`,
    count: disposition === 'report' ? `${String(count)}, not blocked` : count
  }))
  const dropped = typeof csp.violationsDropped === 'number' ? note(`${csp.violationsDropped.toLocaleString('en')} more were left out.`) : ''
  return section('Violations that the browser reported', rows('Violations', VIOLATION, shown) + dropped)
}

function policies (name: string, title: string, profile: Profile): string {
  const { headers } = dataOf(profile, 'response')
  const value = isObject(headers) ? headers[name] : undefined
  if (value === undefined) return ''
  return [value].flat().flatMap((one) => String(one).split(',')).map((policy) =>
    section(title, rows(title, COLUMNS, directivesOf(policy), 'An empty policy allows everything.') + html`<details><summary>As it was sent</summary><pre class="data">${policy.trim()}</pre></details>`)).join('')
}
