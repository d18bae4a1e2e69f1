import { Client, Server } from './processes.js'
import type { Scenario } from './scenarios.js'

/** The middle of many values, and the quarters below and above it. */
export interface Quartiles {
  lower: number
  median: number
  upper: number
}

/** The figures of a scenario. */
export interface Result {
  name: string
  /** The base's CPU time a request, divided by ours: the share of its capacity that is left. */
  ratio: Quartiles
  /** Microseconds of CPU time a request. */
  cpu: { subject: Quartiles, base: Quartiles }
  /** The part of it that the thread which answers requests takes; `NaN` where the system does not report it. */
  main: { subject: Quartiles, base: Quartiles, added: Quartiles }
  /** Requests a second, with the load on the same machine. */
  rate: { subject: Quartiles, base: Quartiles }
  status: number
}

export interface PairOptions {
  /** How many pairs of processes are started. */
  pairs: number
  /** Requests of one pair, of a scenario without a number of its own. */
  requests: number
  warmUp: number
  /** The folder that a CPU profile of the subject is written to; none without it. */
  cpuProfiles?: string
}

interface Round {
  cpu: number
  main: number
  rate: number
  status: number
}

/** Milliseconds that the warm-up of a server may take. */
const WARM_UP = 10_000
const CONNECTIONS = 10

/** Rounds of one pair of processes: their mean is one value. */
const ROUNDS = 4

/**
 * Measures a scenario against its base. The processes of each pair are new: V8 optimizes the same code differently from
 * process to process, by a fifth of a request. Their rounds take turns, so that other work of the machine affects both.
 */
export async function measurePair (scenario: Scenario, options: PairOptions): Promise<Result> {
  const [ours, theirs]: [Round[], Round[]] = [[], []]
  for (let pair = 0; pair < options.pairs; pair++) {
    const [our, their] = await measureOnce(scenario, options)
    ours.push(our)
    theirs.push(their)
  }
  return {
    name: scenario.name,
    ratio: quartiles(ours.map(({ cpu }, i) => (theirs[i] as Round).cpu / cpu)),
    cpu: { subject: quartiles(ours.map(({ cpu }) => cpu)), base: quartiles(theirs.map(({ cpu }) => cpu)) },
    main: {
      subject: quartiles(ours.map(({ main }) => main)),
      base: quartiles(theirs.map(({ main }) => main)),
      added: quartiles(ours.map(({ main }, i) => main - (theirs[i] as Round).main))
    },
    rate: { subject: quartiles(ours.map(({ rate }) => rate)), base: quartiles(theirs.map(({ rate }) => rate)) },
    status: ours[0]?.status ?? 0
  }
}

async function measureOnce (
  scenario: Scenario, { requests, warmUp, cpuProfiles }: PairOptions
): Promise<[Round, Round]> {
  const client = new Client()
  const flags = cpuProfiles === undefined
    ? []
    : ['--cpu-prof', `--cpu-prof-dir=${cpuProfiles}`, '--cpu-prof-interval=250']
  const subject = await Server.start(scenario.subject.variant, { ...scenario.subject, flags })
  const base = await Server.start(scenario.base.variant, scenario.base)
  const count = Math.ceil(Math.min(requests, scenario.requests ?? requests) / ROUNDS)
  const [ours, theirs]: [Round[], Round[]] = [[], []]
  try {
    // No more at once than can wait to be written, where a profile is large.
    const warm = Math.min(warmUp, scenario.warmUp ?? warmUp)
    for (const server of [subject, base]) {
      const since = performance.now()
      for (let left = warm; left > 0 && performance.now() - since < WARM_UP; left -= count) {
        await measureRound(client, server, scenario, Math.min(left, count))
      }
    }
    for (let round = 0; round < ROUNDS; round++) {
      theirs.push(await measureRound(client, base, scenario, count))
      ours.push(await measureRound(client, subject, scenario, count))
    }
  } finally {
    client.close()
    await Promise.all([subject.close(), base.close()])
  }
  return [meanOf(ours), meanOf(theirs)]
}

function meanOf (rounds: readonly Round[]): Round {
  const mean = (name: 'cpu' | 'main' | 'rate'): number =>
    rounds.reduce((sum, round) => sum + round[name], 0) / rounds.length
  return { cpu: mean('cpu'), main: mean('main'), rate: mean('rate'), status: rounds[0]?.status ?? 0 }
}

async function measureRound (client: Client, server: Server, { path = '/', headers = {} }: Scenario, requests: number): Promise<Round> {
  const before = await server.usage()
  const { elapsed, same, status } = await client.load({ port: server.port, requests, connections: CONNECTIONS, path, headers })
  const after = await server.usage()
  if (same < requests) throw new Error(`${requests - same} responses did not have the status ${status}`)
  return { cpu: (after.cpu - before.cpu) / requests, main: (after.main - before.main) / requests, rate: requests / elapsed * 1_000, status }
}

export function quartiles (values: readonly number[]): Quartiles {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share: number): number => {
    const place = (sorted.length - 1) * share
    const low = sorted[Math.floor(place)] ?? NaN
    return low + ((sorted[Math.ceil(place)] ?? NaN) - low) * (place - Math.floor(place))
  }
  return { lower: at(0.25), median: at(0.5), upper: at(0.75) }
}
