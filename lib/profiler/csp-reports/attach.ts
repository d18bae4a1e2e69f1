import type { Refusal } from '../../errors/report.js'
import type { Profile } from '../profile.js'
import type { CspViolation } from './read-report.js'

/** Of one page; a policy that is far off is violated for each of its elements. */
const MAX_VIOLATIONS = 50
/** Sentences at the top of a profile. */
const MAX_SENTENCES = 5
const HEADERS = { enforce: 'content-security-policy', report: 'content-security-policy-report-only' } as const

/** A profile with further violations of its page; those that were reported before are counted. The given one stays as it is. */
export function withViolations (profile: Profile, more: readonly CspViolation[]): Profile {
  const csp = objectOf(profile.collectors.csp)
  const violations = (Array.isArray(csp.violations) ? csp.violations as CspViolation[] : []).map((one) => ({ ...one }))
  let dropped = Number(csp.violationsDropped ?? 0)
  for (const one of more) {
    const same = violations.find((other) => isSame(other, one))
    if (same !== undefined) same.count += one.count
    else if (violations.length < MAX_VIOLATIONS) violations.push(one)
    else dropped++
  }
  const others = (Array.isArray(profile.collectors.blocked) ? profile.collectors.blocked as Refusal[] : []).filter(({ kind }) => kind !== 'csp')
  const told = violations.slice(0, MAX_SENTENCES).map((one) => refusalOf(one, csp))
  return {
    ...profile,
    collectors: { ...profile.collectors, csp: { ...csp, violations, ...(dropped > 0 && { violationsDropped: dropped }) }, blocked: [...others, ...told] }
  }
}

/** The option that decides about a violation: that of Hindsight, or whoever has set the header. */
export function optionOf ({ disposition, decidedBy }: CspViolation, csp: Readonly<Record<string, unknown>>): string {
  const header = HEADERS[disposition]
  if (Array.isArray(csp.ofRoute) && csp.ofRoute.includes(header)) return `${decidedBy} of the route's own ${header}`
  return `contentSecurityPolicy.${disposition === 'report' ? 'reportOnly' : 'enforce'}["${decidedBy}"]`
}

function refusalOf (violation: CspViolation, csp: Readonly<Record<string, unknown>>): Refusal {
  const { directive, blocked, disposition, source, allow, decidedBy } = violation
  const option = optionOf(violation, csp)
  const what = blocked === 'inline' ? 'what stands inline in the page' : blocked
  return {
    kind: 'csp',
    sentence: `The browser ${disposition === 'report' ? 'reports (and did not block)' : 'blocked'} ${what}${source === undefined ? '' : ` (${source})`} by ${directive}${decidedBy === directive ? '' : `, which falls back on ${decidedBy}`}: the option ${option} decides, and would have to allow ${allow}.`,
    rule: directive,
    option
  }
}

function isSame (one: CspViolation, other: CspViolation): boolean {
  return one.directive === other.directive && one.blocked === other.blocked && one.source === other.source && one.disposition === other.disposition && one.sample === other.sample
}

function objectOf (value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value as Record<string, unknown> : {}
}
