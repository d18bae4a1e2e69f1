import type { FastifyRequest } from 'fastify'
import type { Refusal } from '../../errors/refusal.js'
import type { Mask } from '../../mask/mask.js'
import { cut, visibleLine } from '../../view/visible.js'
import { pairsSection, rowsSection } from '../pages/components.js'
import { collectorPanel, dataOf, isObject, listOf } from '../panels/panel.js'
import type { Profile } from '../profile.js'

declare module '../../lifecycle/services.js' {
  interface Services {
    /** The address for reports about the page that the response is; null where there is none. In debug mode only. */
    cspReportUri?: (request: FastifyRequest) => string | null
  }
}

/** A violation of a Content Security Policy (CSP3, section 5.2), as a profile stores it. */
export interface CspViolation {
  /** The effective directive. */
  directive: string
  /** A URL, or a keyword such as `inline`, `eval` and `data`. */
  blocked: string
  disposition: 'enforce' | 'report'
  /** `file:line`. */
  source?: string
  count: number
}

const VIOLATION_COLUMNS = {
  directive: 'Directive', blocked: 'Blocked', source: 'Source', disposition: 'Disposition', count: 'Count'
}
const MAX_TEXT = 1_000
/** Of one page. */
const MAX_VIOLATIONS = 50
/** Sentences in the summary of a profile. */
const MAX_SENTENCES = 5

/** The violation of a report as `report-uri` sends it (CSP3, section 5.3), masked and bounded; null if it has none. */
export function readReport (body: unknown, mask: Mask): CspViolation | null {
  const report = isObject(body) ? body['csp-report'] : null
  if (!isObject(report)) return null
  const url = (name: string): string => {
    const value = report[name]
    return typeof value === 'string' ? visibleLine(cut(mask.url(value), MAX_TEXT)) : ''
  }
  // Older browsers send the directive with its sources.
  const text = String(report['effective-directive'] ?? report['violated-directive'] ?? '')
  const [directive = ''] = text.toLowerCase().split(' ', 1)
  if (!/^[a-z][a-z-]{1,60}$/.test(directive)) return null
  const line = report['line-number']
  const file = url('source-file')
  return {
    directive,
    blocked: url('blocked-uri') || 'inline',
    disposition: report.disposition === 'report' ? 'report' : 'enforce',
    ...(file !== '' && { source: Number.isSafeInteger(line) ? `${file}:${String(line)}` : file }),
    count: 1
  }
}

/** A copy of the profile with a violation of its page; equal ones are counted. Further ones than 50 are left out. */
export function withViolation (profile: Profile, violation: CspViolation): Profile {
  const csp = dataOf(profile, 'csp')
  const violations = listOf(csp.violations).map((one) => ({ ...one }) as unknown as CspViolation)
  const same = violations.find((one) => sentenceOf(one) === sentenceOf(violation))
  if (same !== undefined) same.count++
  else if (violations.length < MAX_VIOLATIONS) violations.push(violation)
  const others = listOf(profile.collectors.blocked).filter(({ kind }) => kind !== 'csp')
  const blocked = [...others, ...violations.slice(0, MAX_SENTENCES).map(refusalOf)]
  return { ...profile, collectors: { ...profile.collectors, csp: { ...csp, violations }, blocked } }
}

function sentenceOf ({ directive, blocked, disposition, source }: CspViolation): string {
  const action = disposition === 'report' ? 'Reported, not blocked,' : 'Blocked'
  const what = (blocked === 'inline' ? 'inline code' : blocked) + (source === undefined ? '' : ` (${source})`)
  return `${action} by Content Security Policy: ${what}, by ${directive}. The option is ${optionOf(disposition)}.`
}

function refusalOf (violation: CspViolation): Refusal {
  const { directive, disposition } = violation
  return { kind: 'csp', sentence: sentenceOf(violation), rule: directive, option: optionOf(disposition) }
}

function optionOf (disposition: CspViolation['disposition']): string {
  return `contentSecurityPolicy.${disposition === 'report' ? 'reportOnly' : 'enforce'}`
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
