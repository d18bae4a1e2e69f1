import type { FastifyRequest } from 'fastify'
import type { User } from './user.js'

/** What a voter may look at. */
export interface VoteContext {
  user: User | null
  /** The user's roles, inherited ones among them. */
  roles: readonly string[]
  request: FastifyRequest
}

/** True grants, false denies; with a reason for the profile; `granted: null` abstains. */
export type Ballot = boolean | { granted: boolean | null, reason?: string }

/** Decides about attributes of the application's own, such as "may this user edit this article?". */
export interface Voter {
  /** What the profile calls it; by default the name of its class. */
  readonly name?: string
  /** Whether it has a say. */
  supports (attribute: string, subject: unknown): boolean
  vote (attribute: string, subject: unknown, context: VoteContext): Ballot | Promise<Ballot>
}

/** One vote, as the profile has it. */
export interface RecordedVote {
  voter: string
  vote: 'granted' | 'denied' | 'abstained'
  reason: string
}

/**
 * Affirmative: one voter that grants is enough. Consensus: more grant than deny, and as many grant as well.
 * Unanimous: none denies. Where all abstain, access is denied.
 */
export type Strategy = 'affirmative' | 'consensus' | 'unanimous'

export interface Decision {
  granted: boolean
  votes: RecordedVote[]
}

const STRATEGIES: Record<Strategy, (granted: number, denied: number) => boolean> = {
  affirmative: (granted) => granted > 0,
  consensus: (granted, denied) => granted > 0 && granted >= denied,
  unanimous: (granted, denied) => granted > 0 && denied === 0
}

const AUTHENTICATED = new Set(['IS_AUTHENTICATED', 'IS_AUTHENTICATED_FULLY'])

/** Asks the voters, all of them, and counts by the strategy. */
export class AccessDecision {
  readonly strategy: Strategy
  readonly #voters: readonly Voter[]

  constructor (strategy: Strategy = 'affirmative', voters: readonly Voter[] = []) {
    if (!Object.hasOwn(STRATEGIES, strategy)) throw new Error(`security.strategy: "${String(strategy)}" is none of ${Object.keys(STRATEGIES).join(', ')}`)
    voters.forEach((voter, i) => {
      if (typeof voter?.supports !== 'function' || typeof voter.vote !== 'function') throw new Error(`security.voters[${i}]: a voter has the functions supports and vote`)
    })
    this.strategy = strategy
    this.#voters = voters
  }

  async decide (attribute: string, subject: unknown, context: VoteContext): Promise<Decision> {
    const votes: RecordedVote[] = [builtIn(attribute, context, this.#voters.some((voter) => voter.supports(attribute, subject)))]
    for (const voter of this.#voters) {
      const name = voter.name ?? voter.constructor.name
      if (voter.supports(attribute, subject)) votes.push({ voter: name, ...read(await voter.vote(attribute, subject, context)) })
      else votes.push({ voter: name, vote: 'abstained', reason: 'does not support the attribute' })
    }
    const count = (wanted: string): number => votes.filter(({ vote }) => vote === wanted).length
    return { granted: STRATEGIES[this.strategy](count('granted'), count('denied')), votes }
  }
}

function read (ballot: Ballot): Omit<RecordedVote, 'voter'> {
  const { granted, reason = '' } = typeof ballot === 'object' && ballot !== null ? ballot : { granted: ballot }
  // Only true is a yes.
  return { vote: granted === true ? 'granted' : granted === null ? 'abstained' : 'denied', reason }
}

// What no voter of the application claims is a role.
function builtIn (attribute: string, { user, roles }: VoteContext, claimed: boolean): RecordedVote {
  if (attribute === 'PUBLIC_ACCESS') return { voter: 'authenticated', vote: 'granted', reason: 'everybody may' }
  if (AUTHENTICATED.has(attribute)) {
    return { voter: 'authenticated', ...user === null ? { vote: 'denied', reason: 'nobody is logged in' } : { vote: 'granted', reason: 'a user is logged in' } }
  }
  if (claimed && !attribute.startsWith('ROLE_')) return { voter: 'role', vote: 'abstained', reason: 'not a role' }
  if (!roles.includes(attribute)) return { voter: 'role', vote: 'denied', reason: user === null ? 'nobody is logged in' : 'the user does not have the role' }
  return { voter: 'role', vote: 'granted', reason: user?.roles.includes(attribute) === true ? 'the user has the role' : 'the user inherits the role' }
}
