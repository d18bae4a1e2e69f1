/** What decides about a request from another origin (Fetch, section 3.3). */
export interface CorsDecision {
  /** The rule of the path, null where there is none. */
  rule: { index: number, path: string, origin: string, methods: readonly string[], credentials: boolean } | null
  origin: string | null
  preflight: boolean
  /** The method and the headers that a preflight asks for. */
  wanted: { method: string, headers: string } | null
  /** Why it was refused or not looked at, where the rule of the path has not to do with it. */
  reason: string | null
}

/** The decision, with what came of it. */
export interface CorsVerdict extends CorsDecision {
  /** Null: the question did not come up. */
  allowed: boolean | null
  why: string
  headers: Record<string, unknown>
}

/** Says whether the browser will let the page have the answer, as the headers that went out tell it. */
export function corsVerdict (decision: CorsDecision, headers: Readonly<Record<string, unknown>>): CorsVerdict {
  const given = Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')))
  const { rule, origin, reason } = decision
  const verdict = (allowed: boolean | null, why: string): CorsVerdict => ({ ...decision, allowed, why, headers: given })
  if (origin === null) return verdict(null, 'the request has no Origin: it does not come from the page of another origin')
  if (rule === null) return verdict(false, 'no rule holds for this path, so that browsers keep the answer from other origins')
  if (reason === 'same origin') return verdict(null, 'the request comes from this very origin')
  if (reason !== null) return verdict(false, reason)
  const allowed = given['access-control-allow-origin']
  if (allowed === '*') return verdict(true, 'the rule allows any origin')
  if (allowed === origin) return verdict(true, 'the rule allows this origin')
  return verdict(false, `the rule does not allow this origin: it allows ${rule.origin}`)
}

/** The origins of a rule in a few words. */
export function originsText (origin: unknown): string {
  if (origin === undefined || origin === false) return 'none'
  if (origin === true) return 'whichever asks'
  if (origin === '*') return 'any'
  if (typeof origin === 'function') return 'those that a function picks'
  return (Array.isArray(origin) ? origin : [origin]).slice(0, 20).map(String).join(', ')
}
