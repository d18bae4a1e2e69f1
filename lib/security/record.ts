import type { RecordedVote, Strategy } from './decision.js'

/** What happened to one authenticator. */
export interface RecordedAttempt {
  name: string
  outcome: 'succeeded' | 'failed' | 'not supported' | 'not reached'
  reason?: string
}

/** One question and its answer. */
export interface RecordedDecision {
  /** Who asked: `access_control`, `is-granted`, `request.isGranted`. */
  by: string
  attribute: string
  subject: string | null
  granted: boolean
  strategy: Strategy
  votes: RecordedVote[]
}

/** What the Security panel shows of a request; without secrets, as plain data. */
export interface SecurityRecord {
  firewall: { name: string, pattern: string, security: boolean, stateless: boolean } | null
  authenticators: RecordedAttempt[]
  user: { identifier: string, attributes: unknown } | null
  authenticatedBy: string | null
  roles: string[]
  inheritedRoles: string[]
  /** The rule of `accessControl` that decided; null where none holds for the request. */
  rule: { index: number, path: string, methods: string[], ips: string[], roles: string[], granted: boolean } | null
  decisions: RecordedDecision[]
  expression: { expression: string, result: boolean, error?: string } | null
}

/** A record of which nothing is known yet. */
export function emptyRecord (): SecurityRecord {
  return {
    firewall: null, authenticators: [], user: null, authenticatedBy: null, roles: [], inheritedRoles: [], rule: null, decisions: [], expression: null
  }
}

/** A subject in a few words: what it is, not what is in it. */
export function describeSubject (subject: unknown): string | null {
  if (subject === undefined) return null
  if (subject === null || typeof subject === 'number' || typeof subject === 'boolean') return String(subject)
  if (typeof subject === 'string') return subject.length <= 100 ? subject : `${subject.slice(0, 100)}…`
  if (typeof subject !== 'object') return typeof subject
  const { constructor: maker, id } = subject as { constructor?: { name?: unknown }, id?: unknown }
  const name = typeof maker?.name === 'string' ? maker.name : 'Object'
  return typeof id === 'string' || typeof id === 'number' ? `${name} ${id}` : name
}
