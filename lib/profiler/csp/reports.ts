import type { Refusal } from '../../errors/report.js'
import type { Mask } from '../../mask/mask.js'
import { cut, visibleLine } from '../../view/visible.js'
import { dataOf, isObject, listOf, type Data } from '../panels/panel.js'
import type { Profile } from '../profile.js'

/** A violation of a Content Security Policy (CSP3, section 5.2), as a profile stores it. */
export interface CspViolation {
  /** The effective directive. */
  directive: string
  /** A URL, or a keyword such as `inline`, `eval` and `data`. */
  blocked: string
  disposition: 'enforce' | 'report'
  /** `file:line:column`. */
  source?: string
  sample?: string
  /** The directive of the policy that decided: the effective one, or the one that it falls back on. */
  decidedBy: string
  /** A source that would allow it, or a description. */
  allow: string
  count: number
}

const MAX_REPORTS = 20
const MAX_TEXT = 1_000
const MAX_POLICY = 20_000
/** Of one page. */
const MAX_VIOLATIONS = 50
/** Sentences in the summary of a profile. */
const MAX_SENTENCES = 5

/**
 * The violations of a report's body, masked and bounded; null if it is no report. `application/reports+json` is a list,
 * `application/csp-report` one object with other names of fields.
 */
export function readReports (body: unknown, mask: Mask): CspViolation[] | null {
  const isModern = Array.isArray(body)
  const reports = isModern
    ? listOf(body.slice(0, MAX_REPORTS)).filter(({ type }) => type === 'csp-violation').map(({ body }) => body)
    : isObject(body) ? [body['csp-report']] : []
  const fields = reports.filter(isObject)
  const violations = fields.map((one) => violationOf(one, mask)).filter((one) => one !== null)
  return fields.length === 0 || (!isModern && violations.length === 0) ? null : violations
}

function violationOf (fields: Data, mask: Mask): CspViolation | null {
  const shown = (value: unknown, masked: (text: string) => string): string =>
    typeof value === 'string' ? visibleLine(cut(masked(value), MAX_TEXT)) : ''
  const text = (value: unknown): string => shown(value, (one) => mask.text(one))
  const url = (value: unknown): string => shown(value, (one) => mask.url(one))
  // Older browsers send the directive with its sources.
  const directive = text(
    fields.effectiveDirective ?? fields['effective-directive'] ?? fields['violated-directive']
  ).split(' ', 1)[0]?.toLowerCase() ?? ''
  if (!/^[a-z][a-z-]{1,60}$/.test(directive)) return null
  const blocked = url(fields.blockedURL ?? fields['blocked-uri']) || 'inline'
  const file = url(fields.sourceFile ?? fields['source-file'])
  const numbers = [fields.lineNumber ?? fields['line-number'], fields.columnNumber ?? fields['column-number']]
  const places = numbers.filter((one) => Number.isSafeInteger(one) && Number(one) > 0)
  const policy = String(fields.originalPolicy ?? fields['original-policy'] ?? '')
  const sample = text(fields.sample ?? fields['script-sample'])
  return {
    directive,
    blocked,
    disposition: fields.disposition === 'report' ? 'report' : 'enforce',
    ...(file !== '' && { source: [file, ...places].join(':') }),
    ...(sample !== '' && { sample }),
    decidedBy: deciderOf(directive, policy.slice(0, MAX_POLICY)),
    allow: allowanceOf(directive, blocked),
    count: 1
  }
}

// CSP3, section 6.8.3: the fallbacks of a directive.
function deciderOf (directive: string, policy: string): string {
  const present = new Set(policy.split(/[;,]/).map((part) => part.trim().split(/\s/, 1)[0]?.toLowerCase()))
  const parent = directive.replace(/-(?:elem|attr)$/, '')
  const fallbacks = parent === 'worker-src' ? ['child-src', 'script-src'] : parent === 'frame-src' ? ['child-src'] : []
  return [directive, parent, ...fallbacks, 'default-src'].find((one) => present.has(one)) ?? parent
}

function allowanceOf (directive: string, blocked: string): string {
  if (blocked === 'inline') {
    if (directive.endsWith('-attr')) return "its hash with 'unsafe-hashes' (or move it into a file)"
    return `its nonce (reply.cspNonce.${directive.startsWith('style') ? 'style' : 'script'}) or its hash`
  }
  if (blocked === 'eval' || blocked === 'wasm-eval') return `'${blocked === 'eval' ? '' : 'wasm-'}unsafe-eval'`
  const [scheme = ''] = blocked.split(':', 1)
  if (/^(?:data|blob|filesystem|mediastream)$/.test(scheme)) return `${scheme}:`
  if (!URL.canParse(blocked)) return 'its source'
  const { origin, protocol } = new URL(blocked)
  return origin === 'null' ? protocol : origin
}

/** A copy of the profile with further violations of its page; equal ones are counted. */
export function withViolations (profile: Profile, more: readonly CspViolation[]): Profile {
  const csp = dataOf(profile, 'csp')
  const violations = listOf(csp.violations).map((one) => ({ ...one }) as unknown as CspViolation)
  let dropped = Number(csp.violationsDropped ?? 0)
  for (const one of more) {
    const same = violations.find((other) => isSame(other, one))
    if (same !== undefined) same.count += one.count
    else if (violations.length < MAX_VIOLATIONS) violations.push(one)
    else dropped++
  }
  const others = listOf(profile.collectors.blocked).filter(({ kind }) => kind !== 'csp')
  return {
    ...profile,
    collectors: {
      ...profile.collectors,
      csp: { ...csp, violations, ...(dropped > 0 && { violationsDropped: dropped }) },
      blocked: [...others, ...violations.slice(0, MAX_SENTENCES).map((one) => refusalOf(one, csp))]
    }
  }
}

function isSame (one: CspViolation, other: CspViolation): boolean {
  const fields = ['directive', 'blocked', 'source', 'disposition', 'sample'] as const
  return fields.every((field) => one[field] === other[field])
}

/** The option that decides about a violation, or the header that the route has set. */
export function optionOf ({ disposition, decidedBy }: CspViolation, csp: Data): string {
  const header = `content-security-policy${disposition === 'report' ? '-report-only' : ''}`
  if (Array.isArray(csp.ofRoute) && csp.ofRoute.includes(header)) return `${decidedBy} of the route's own ${header}`
  return `contentSecurityPolicy.${disposition === 'report' ? 'reportOnly' : 'enforce'}["${decidedBy}"]`
}

function refusalOf (violation: CspViolation, csp: Data): Refusal {
  const { directive, blocked, disposition, source, allow, decidedBy } = violation
  const option = optionOf(violation, csp)
  const action = disposition === 'report' ? 'Reported, not blocked,' : 'Blocked'
  const what = (blocked === 'inline' ? 'inline code' : blocked) + (source === undefined ? '' : ` (${source})`)
  const by = directive + (decidedBy === directive ? '' : `, which falls back on ${decidedBy}`)
  const sentence = `${action} by Content Security Policy: ${what}, by ${by}. ` +
    `To allow it, add ${allow} to ${option}.`
  return { kind: 'csp', sentence, rule: directive, option }
}
