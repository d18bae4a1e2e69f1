import type { Refusal } from '../../errors/report.js'
import type { CorsVerdict } from '../collectors/cors.js'

/** Why the page of another origin may not read an answer, or not even ask; null where it may, or where the question did not come up. */
export function corsRefusal (verdict: CorsVerdict, withCredentials: boolean, path: string): Refusal | null {
  const { allowed, origin, rule, why, preflight, headers, wanted } = verdict
  if (origin === null) return null
  if (allowed === true) return withCredentials ? credentials(verdict) : null
  if (allowed !== false) return null
  const what = preflight ? `The preflight of ${origin} was refused` : `The page of ${origin} may not read the answer`
  const refusal = (decided: string, rule: string, option: string): Refusal => ({ kind: 'cors', sentence: `${what}: ${decided}; the option ${option} decides.`, rule, option })
  if (rule === null) return refusal(`no rule of the option cors holds for ${path}`, 'no CORS rule', 'cors (a rule with this path and origin)')
  const name = `cors[${rule.index}]`
  const of = `rule ${rule.index} of cors (path ${rule.path})`
  // A refused method or header is told ahead of the origin, which may be refused as well.
  const reason = why.replace(/^CORS: /, '').replace(/\.$/, '')
  if (preflight && /^the method /.test(reason)) return refusal(`${of}: ${reason}`, `${name}.methods`, `${name}.methods`)
  if (preflight && /^the header /.test(reason)) return refusal(`${of}: ${reason}`, `${name}.allowedHeaders`, `${name}.allowedHeaders`)
  const asked = wanted === null ? '' : ` for ${wanted.method}`
  return refusal(`${of} allows ${rule.origin}${headers['access-control-allow-origin'] === undefined ? '' : `, and the answer${asked} says ${String(headers['access-control-allow-origin'])}`}`, `${name}.origin`, `${name}.origin`)
}

// Fetch, section 3.3.5: with credentials neither the asterisk nor silence is enough.
function credentials ({ origin, rule, preflight, headers }: CorsVerdict): Refusal | null {
  if (preflight || headers['access-control-allow-credentials'] === 'true' || rule === null) return null
  const option = `cors[${rule.index}].credentials`
  return { kind: 'cors', sentence: `The page of ${String(origin)} sent cookies, and may not read the answer: rule ${rule.index} of cors (path ${rule.path}) does not allow credentials; the option ${option} decides.`, rule: option, option }
}

/** What is known of a request from another origin where no rules are configured at all. */
export interface UnruledFacts {
  origin: string
  mode: string | undefined
  preflight: boolean
  /** The `Access-Control-Allow-Origin` that went out, by whomever. */
  given: unknown
}

/** The same where the option cors is not set: nobody else has allowed it either. */
export function unruledRefusal ({ origin, mode, preflight, given }: UnruledFacts): Refusal | null {
  if (given !== undefined || !(preflight || mode === 'cors')) return null
  const what = preflight ? `The preflight of ${origin} was refused` : `The page of ${origin} may not read the answer`
  return { kind: 'cors', sentence: `${what}: nothing allows it, as the option cors is not set.`, rule: 'no CORS at all', option: 'cors' }
}
