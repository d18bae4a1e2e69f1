import type { Mask } from '../../mask/mask.js'
import { cut, visibleLine } from '../../view/visible.js'

/** A violation of a policy (CSP3, section 5.2), as a profile keeps it. */
export interface CspViolation {
  /** The directive that was violated: the effective one. */
  directive: string
  /** A URL, or `inline`, `eval`, `data` and the like. */
  blocked: string
  disposition: 'enforce' | 'report'
  /** `file:line:column`, where the browser tells. */
  source?: string
  sample?: string
  /** The directive of the policy that decides, of which the effective one may be a part. */
  decidedBy: string
  /** What would have to be in it, in words. */
  allow: string
  /** How often it was reported. */
  count: number
}

const MAX_REPORTS = 20
const MAX_TEXT = 1_000

/**
 * The violations in what a browser has sent: one in `application/csp-report`, a list in `application/reports+json`.
 * Null where it is neither; everything in it is a stranger's text.
 */
export function readReports (body: unknown, mask: Mask): CspViolation[] | null {
  if (Array.isArray(body)) {
    const reports = body.slice(0, MAX_REPORTS).filter((one) => isObject(one) && one.type === 'csp-violation' && isObject(one.body)) as Array<{ body: Fields }>
    return reports.length === 0 ? null : reports.map(({ body }) => violation(body, mask, MODERN)).filter((one) => one !== null)
  }
  if (!isObject(body) || !isObject(body['csp-report'])) return null
  const one = violation(body['csp-report'], mask, LEGACY)
  return one === null ? null : [one]
}

type Fields = Record<string, unknown>
type Names = Readonly<Record<'directive' | 'blocked' | 'policy' | 'file' | 'line' | 'column' | 'sample', string>>

const MODERN: Names = { directive: 'effectiveDirective', blocked: 'blockedURL', policy: 'originalPolicy', file: 'sourceFile', line: 'lineNumber', column: 'columnNumber', sample: 'sample' }
const LEGACY: Names = { directive: 'effective-directive', blocked: 'blocked-uri', policy: 'original-policy', file: 'source-file', line: 'line-number', column: 'column-number', sample: 'script-sample' }

function violation (fields: Fields, mask: Mask, names: Names): CspViolation | null {
  const text = (name: string): string => typeof fields[name] === 'string' ? visibleLine(cut(mask.text(fields[name]), MAX_TEXT)) : ''
  const url = (name: string): string => typeof fields[name] === 'string' ? visibleLine(cut(mask.url(fields[name]), MAX_TEXT)) : ''
  // Older browsers name the directive with its sources, and nothing but that.
  const directive = (text(names.directive) || text('violated-directive')).split(' ', 1)[0]?.toLowerCase() ?? ''
  if (!/^[a-z][a-z-]{1,60}$/.test(directive)) return null
  const blocked = url(names.blocked)
  const file = url(names.file)
  const places = [fields[names.line], fields[names.column]].filter((place) => Number.isSafeInteger(place) && Number(place) > 0)
  const sample = text(names.sample)
  const decidedBy = decider(directive, typeof fields[names.policy] === 'string' ? String(fields[names.policy]).slice(0, 20_000) : '')
  return {
    directive,
    blocked: blocked === '' ? 'inline' : blocked,
    disposition: fields.disposition === 'report' ? 'report' : 'enforce',
    ...(file !== '' && { source: [file, ...places].join(':') }),
    ...(sample !== '' && { sample }),
    decidedBy,
    allow: allowance(directive, blocked),
    count: 1
  }
}

// CSP3, section 6.8.3: what a directive falls back on.
function decider (directive: string, policy: string): string {
  const known = new Set(policy.split(/[;,]/).map((part) => part.trim().split(/\s/, 1)[0]?.toLowerCase()))
  const parent = directive.replace(/-(?:elem|attr)$/, '')
  const chain = [directive, parent, ...(['worker-src', 'frame-src'].includes(parent) ? ['child-src'] : []), ...(parent === 'worker-src' ? ['script-src'] : [])]
  return chain.find((one) => known.has(one)) ?? (known.has('default-src') ? 'default-src' : parent)
}

function allowance (directive: string, blocked: string): string {
  if (blocked === '' || blocked === 'inline') {
    if (directive.endsWith('-attr')) return "the attribute by its hash beside 'unsafe-hashes' (or it moves into a file)"
    return `the element by its nonce (reply.cspNonce.${directive.startsWith('style') ? 'style' : 'script'}) or its hash`
  }
  if (blocked === 'eval') return "'unsafe-eval'"
  if (blocked === 'wasm-eval') return "'wasm-unsafe-eval'"
  if (/^(?:data|blob|filesystem|mediastream)(?::|$)/.test(blocked)) return `${blocked.split(':', 1)[0] ?? ''}:`
  if (!URL.canParse(blocked)) return 'whatever it names'
  const { origin, protocol } = new URL(blocked)
  return origin === 'null' ? protocol : origin
}

function isObject (value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
