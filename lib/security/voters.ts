import type { FastifyRequest } from 'fastify'
import type { Decision } from './refusal.js'
import type { User } from './users.js'

/** The data that a voter receives. */
interface VoteContext {
  user: User | null
  /** The user's roles, with inherited ones. */
  roles: readonly string[]
  request: FastifyRequest
}

/** Decides about attributes of the application, such as "may this user edit this article?". */
export interface Voter {
  /** Its name in the profile; by default the name of its class. */
  readonly name?: string
  /** Whether it votes about the attribute. */
  supports (attribute: string, subject: unknown): boolean
  /** True grants, anything else denies; the reason is for the profile. */
  vote (attribute: string, subject: unknown, context: VoteContext): Ballot | Promise<Ballot>
}

type Ballot = boolean | { granted: boolean, reason?: string }

/** Collects the votes of all voters that support an attribute: one that grants is enough. */
export async function decideAccess (
  voters: readonly Voter[], attribute: string, subject: unknown, context: VoteContext
): Promise<Decision> {
  const supporters = voters.filter((voter) => voter.supports(attribute, subject))
  const isBuiltIn = supporters.length === 0 || /^(?:ROLE_.*|PUBLIC_ACCESS|IS_AUTHENTICATED)$/.test(attribute)
  const votes = isBuiltIn ? [builtInVote(attribute, context)] : []
  for (const voter of supporters) {
    const ballot = await voter.vote(attribute, subject, context)
    const { granted, reason = '' } = typeof ballot === 'object' && ballot !== null ? ballot : { granted: ballot }
    votes.push(recordedVote(voter.name ?? voter.constructor.name, granted, reason))
  }
  return { attribute, subject: describeSubject(subject), granted: votes.some(({ vote }) => vote === 'granted'), votes }
}

/** The vote about roles and authentication: an attribute that no voter supports is a role. */
function builtInVote (attribute: string, { user, roles }: VoteContext): Decision['votes'][number] {
  if (attribute === 'PUBLIC_ACCESS') return recordedVote('authenticated', true, 'no user is required')
  const isRole = attribute !== 'IS_AUTHENTICATED'
  const voter = isRole ? 'role' : 'authenticated'
  if (user === null) return recordedVote(voter, false, 'no user is logged in')
  if (!isRole) return recordedVote(voter, true, 'a user is logged in')
  if (!roles.includes(attribute)) return recordedVote(voter, false, 'the user does not have the role')
  const isAssigned = user.roles.includes(attribute)
  return recordedVote(voter, true, isAssigned ? 'the user has the role' : 'the user inherits the role')
}

function recordedVote (voter: string, granted: unknown, reason: string): Decision['votes'][number] {
  return { voter, vote: granted === true ? 'granted' : 'denied', reason }
}

/** A short description of a subject, without its content. */
function describeSubject (subject: unknown): string | null {
  if (subject === undefined) return null
  if (typeof subject !== 'object' || subject === null) return String(subject).slice(0, 100)
  const { constructor: maker, id } = subject as { constructor?: { name?: unknown }, id?: unknown }
  const name = typeof maker?.name === 'string' ? maker.name : 'Object'
  return typeof id === 'string' || typeof id === 'number' ? `${name} ${id}` : name
}
