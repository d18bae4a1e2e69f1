import { METHODS } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { addressRanges } from '../http/address-ranges.js'
import { servicesOf } from '../lifecycle/services.js'
import type { AccessRule } from '../options.js'
import type { Paths } from './paths.js'
import type { User } from './users.js'

export type CompiledRule = ReturnType<typeof compileRule>

/** Compiles a rule; throws an error with its number. */
export function compileRule (rule: AccessRule, index: number, paths: Paths) {
  const { path: pattern, ips = [] } = rule
  const where = `security.accessControl[${index}]`
  const roles = [rule.roles].flat()
  if (roles.length === 0) throw new Error(`${where}.roles: a role or PUBLIC_ACCESS is required`)
  const methods = (rule.methods ?? []).map((method) => method.toUpperCase())
  const unknown = methods.findIndex((method) => !METHODS.includes(method))
  if (unknown !== -1) throw new Error(`${where}.methods[${unknown}]: "${methods[unknown]}" is not an HTTP method`)
  const matches = paths.matcher(pattern)
  const contains = addressRanges(ips, `${where}.ips`)
  return {
    /** The rule as it was written, for the profile. */
    facts: { index, path: String(pattern ?? '/'), methods, ips, roles },
    applies (path: string, request: FastifyRequest): boolean {
      const method = request.method === 'HEAD' && !methods.includes('HEAD') ? 'GET' : request.method
      return (methods.length === 0 || methods.includes(method)) && matches(path) &&
        (ips.length === 0 || contains(servicesOf(request).originOf(request).ip))
    }
  }
}

/** What a voter may read. */
export interface VoteContext {
  user: User | null
  /** The user's roles, with inherited ones. */
  roles: readonly string[]
  request: FastifyRequest
}

/** True grants, false denies; with a reason for the profile; `granted: null` abstains. */
type Ballot = boolean | { granted: boolean | null, reason?: string }

/** Decides about attributes of the application, such as "may this user edit this article?". */
export interface Voter {
  /** Its name in the profile; by default the name of its class. */
  readonly name?: string
  /** Whether it votes about the attribute. */
  supports (attribute: string, subject: unknown): boolean
  vote (attribute: string, subject: unknown, context: VoteContext): Ballot | Promise<Ballot>
}

/** One vote in the profile. */
interface RecordedVote {
  voter: string
  vote: 'granted' | 'denied' | 'abstained'
  reason: string
}

/** A decision of the voters in the profile. */
export interface Decision {
  attribute: string
  subject: string | null
  granted: boolean
  votes: RecordedVote[]
}

/** Collects the votes of all voters: one that grants is enough. */
export async function decide (
  voters: readonly Voter[], attribute: string, subject: unknown, context: VoteContext
): Promise<Decision> {
  const supporters = new Set(voters.filter((voter) => voter.supports(attribute, subject)))
  const votes = [builtInVote(attribute, context, supporters.size > 0)]
  for (const voter of voters) {
    const ballot = supporters.has(voter)
      ? await voter.vote(attribute, subject, context)
      : { granted: null, reason: 'does not support the attribute' }
    const { granted, reason = '' } = typeof ballot === 'object' && ballot !== null ? ballot : { granted: ballot }
    votes.push(recordedVote(voter.name ?? voter.constructor.name, granted, reason))
  }
  const granted = votes.some(({ vote }) => vote === 'granted')
  return { attribute, subject: describeSubject(subject), granted, votes }
}

/** The vote about roles and authentication: an attribute that no voter supports is a role. */
function builtInVote (attribute: string, { user, roles }: VoteContext, isSupported: boolean): RecordedVote {
  if (attribute === 'PUBLIC_ACCESS') return recordedVote('authenticated', true, 'no user is required')
  const isRole = attribute !== 'IS_AUTHENTICATED'
  if (isRole && isSupported && !attribute.startsWith('ROLE_')) return recordedVote('role', null, 'not a role')
  const voter = isRole ? 'role' : 'authenticated'
  if (user === null) return recordedVote(voter, false, 'no user is logged in')
  if (!isRole) return recordedVote(voter, true, 'a user is logged in')
  if (!roles.includes(attribute)) return recordedVote(voter, false, 'the user does not have the role')
  const isOwn = user.roles.includes(attribute)
  return recordedVote(voter, true, isOwn ? 'the user has the role' : 'the user inherits the role')
}

// Only true grants.
function recordedVote (voter: string, granted: unknown, reason: string): RecordedVote {
  return { voter, vote: granted === true ? 'granted' : granted === null ? 'abstained' : 'denied', reason }
}

/** A short description of a subject, without its content. */
function describeSubject (subject: unknown): string | null {
  if (subject === undefined) return null
  if (typeof subject === 'string') return subject.length <= 100 ? subject : `${subject.slice(0, 100)}…`
  if (subject === null || typeof subject === 'number' || typeof subject === 'boolean') return String(subject)
  if (typeof subject !== 'object') return typeof subject
  const { constructor: maker, id } = subject as { constructor?: { name?: unknown }, id?: unknown }
  const name = typeof maker?.name === 'string' ? maker.name : 'Object'
  return typeof id === 'string' || typeof id === 'number' ? `${name} ${id}` : name
}
