import { METHODS } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { addressRanges } from '../http/address-ranges.js'
import { servicesOf } from '../lifecycle/services.js'
import type { PathPattern, Paths } from './paths.js'
import type { User } from './users.js'

/** The right that a path requires. The first rule that applies to a request decides; without one access is granted. */
export interface AccessRule {
  /** The paths to which it applies; none: all. */
  path?: PathPattern
  /** The methods to which it applies (a rule for GET applies to HEAD, too); none: all. */
  methods?: string[]
  /** The client addresses or networks (CIDR notation) to which it applies; none: all. */
  ips?: string[]
  /** A role or attribute, or several of which one is enough; `PUBLIC_ACCESS`: no user; `IS_AUTHENTICATED`: any user. */
  roles: string | string[]
}

export type CompiledRule = ReturnType<typeof compileRule>

/** Compiles a rule; throws an error with its number. */
export function compileRule (rule: AccessRule, index: number, paths: Paths) {
  const { path, ips = [] } = rule
  const where = `security.accessControl[${index}]`
  const roles = [rule.roles ?? []].flat()
  if (roles.length === 0) throw new Error(`${where}.roles: name a role, or PUBLIC_ACCESS`)
  if (typeof path === 'string' && !path.startsWith('/')) throw new Error(`${where}.path: a path starts with "/"`)
  const methods = (rule.methods ?? []).map((given, i) => {
    const method = given.toUpperCase()
    if (!METHODS.includes(method)) throw new Error(`${where}.methods[${i}]: "${given}" is no method of HTTP`)
    return method
  })
  const matches = paths.matcher(path)
  const contains = addressRanges(ips, `${where}.ips`)
  return {
    index,
    roles,
    path: String(path ?? '/'), // as it was written, for the profile
    methods,
    ips,
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
export type Ballot = boolean | { granted: boolean | null, reason?: string }

/** Decides about attributes of the application, such as "may this user edit this article?". */
export interface Voter {
  /** Its name in the profile; by default the name of its class. */
  readonly name?: string
  /** Whether it votes about the attribute. */
  supports (attribute: string, subject: unknown): boolean
  vote (attribute: string, subject: unknown, context: VoteContext): Ballot | Promise<Ballot>
}

/** One vote in the profile. */
export interface RecordedVote {
  voter: string
  vote: 'granted' | 'denied' | 'abstained'
  reason: string
}

const STRATEGIES = {
  affirmative: (granted: number) => granted > 0,
  consensus: (granted: number, denied: number) => granted > 0 && granted >= denied,
  unanimous: (granted: number, denied: number) => granted > 0 && denied === 0
}

/**
 * Affirmative: one voter that grants is enough. Consensus: at least as many voters grant as deny. Unanimous: none
 * denies. If all abstain, access is denied.
 */
export type Strategy = keyof typeof STRATEGIES

/** Throws an error for an unknown strategy and for a voter without its functions. */
export function checkVoters (strategy: Strategy, voters: readonly Voter[]): void {
  if (!Object.hasOwn(STRATEGIES, strategy)) {
    throw new Error(`security.strategy: "${String(strategy)}" is none of ${Object.keys(STRATEGIES).join(', ')}`)
  }
  const i = voters.findIndex((one) => typeof one?.supports !== 'function' || typeof one.vote !== 'function')
  if (i !== -1) throw new Error(`security.voters[${i}]: a voter has the functions supports and vote`)
}

/** Collects the votes of all voters, and counts them by the strategy. */
export async function decide (
  strategy: Strategy, voters: readonly Voter[], attribute: string, subject: unknown, context: VoteContext
): Promise<{ granted: boolean, votes: RecordedVote[] }> {
  const isSupported = voters.some((voter) => voter.supports(attribute, subject))
  const votes = [builtInVote(attribute, context, isSupported)]
  for (const voter of voters) {
    // Only true grants.
    const ballot = voter.supports(attribute, subject)
      ? await voter.vote(attribute, subject, context)
      : { granted: null, reason: 'does not support the attribute' }
    const { granted, reason = '' } = typeof ballot === 'object' && ballot !== null ? ballot : { granted: ballot }
    const vote = granted === true ? 'granted' : granted === null ? 'abstained' : 'denied'
    votes.push({ voter: voter.name ?? voter.constructor.name, vote, reason })
  }
  const count = (vote: string): number => votes.filter((one) => one.vote === vote).length
  return { granted: STRATEGIES[strategy](count('granted'), count('denied')), votes }
}

/** The vote about roles and authentication: an attribute that no voter supports is a role. */
function builtInVote (attribute: string, { user, roles }: VoteContext, isSupported: boolean): RecordedVote {
  const anonymous = 'no user is logged in'
  if (attribute === 'PUBLIC_ACCESS') return { voter: 'authenticated', vote: 'granted', reason: 'no user is required' }
  if (attribute === 'IS_AUTHENTICATED' || attribute === 'IS_AUTHENTICATED_FULLY') {
    return user === null
      ? { voter: 'authenticated', vote: 'denied', reason: anonymous }
      : { voter: 'authenticated', vote: 'granted', reason: 'a user is logged in' }
  }
  if (isSupported && !attribute.startsWith('ROLE_')) return { voter: 'role', vote: 'abstained', reason: 'not a role' }
  if (!roles.includes(attribute)) {
    return { voter: 'role', vote: 'denied', reason: user === null ? anonymous : 'the user does not have the role' }
  }
  const reason = user?.roles.includes(attribute) === true ? 'the user has the role' : 'the user inherits the role'
  return { voter: 'role', vote: 'granted', reason }
}

/** What a route requires of its user: a role or attribute, and its subject. */
export interface GrantRequirement {
  readonly attribute: string
  /** The name of a path parameter, or a function that returns the subject. */
  readonly subject?: string | ((request: FastifyRequest) => unknown)
}

/** One requirement, or several of which each must be met. */
export type IsGranted = string | GrantRequirement | ReadonlyArray<string | GrantRequirement>

export type CompiledRequirement = ReturnType<typeof compileRequirements>[number]

/** Compiles what a route declares, whose shape was checked before; throws for a subject that is not a parameter. */
export function compileRequirements (declared: IsGranted, pattern: string) {
  return [declared as string].flat().map((one: string | GrantRequirement) => {
    const { attribute, subject }: GrantRequirement = typeof one === 'string' ? { attribute: one } : one
    if (typeof subject === 'function') return { attribute, subjectOf: subject }
    if (subject === undefined) return { attribute, subjectOf: (): unknown => undefined }
    const names: string[] = pattern.match(/(?<=:)\w+|\*$/g) ?? []
    if (!names.includes(subject)) throw new Error(`has the subject "${subject}", which is no parameter of the route`)
    return { attribute, subjectOf: ({ params }: FastifyRequest) => (params as Record<string, unknown>)[subject] }
  })
}
