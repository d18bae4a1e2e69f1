import type { FastifyRequest } from 'fastify'
import type { Mask } from '../../mask/mask.js'

/** The facts that decide whether a page of another origin may read a response (Fetch, section 3.3). */
interface CorsDecision {
  /** The rule of the path; null: none. */
  rule: { index: number, path: string, origin: string, methods: readonly string[], credentials: boolean } | null
  origin: string | null
  preflight: boolean
  /** The method and headers that a preflight requests. */
  wanted: { method: string, headers: string } | null
  /** Why the request was refused or skipped for a reason other than its origin. */
  reason: string | null
}

export interface CorsVerdict extends CorsDecision {
  /** Whether the browser lets the page read the response; null: not a cross-origin request. */
  allowed: boolean | null
  why: string
}

/** Whether a browser asks whether a page of another origin may send a request (Fetch, section 3.3.2). */
export function isPreflight ({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined
}

/** The verdict according to the headers that were sent. */
export function corsVerdict (decision: CorsDecision, sent: Record<string, unknown>, mask: Mask): CorsVerdict {
  const verdict = (allowed: boolean | null, why: string): CorsVerdict => ({ ...decision, allowed, why })
  const { rule, origin, reason } = decision
  if (origin === null) return verdict(null, 'the request has no Origin: it is not from a page of another origin')
  if (rule === null) return verdict(false, 'no rule of the option cors has this path')
  if (reason === 'same origin') return verdict(null, 'the request is from the same origin')
  if (reason !== null) return verdict(false, reason)
  const allowed = mask.header('origin', String(sent['access-control-allow-origin']))
  if (allowed === '*') return verdict(true, 'the rule allows any origin')
  if (allowed === origin) return verdict(true, 'the rule allows this origin')
  return verdict(false, `the origin is not allowed here; allowed are ${rule.origin}`)
}

/** The origins of a rule as text. */
export function originsText (origin: unknown): string {
  if (origin === undefined || origin === false) return 'none'
  if (origin === true) return 'the origin of each request'
  if (origin === '*') return 'any'
  if (typeof origin === 'function') return 'those that a function accepts'
  return [origin].flat().slice(0, 20).map(String).join(', ')
}
