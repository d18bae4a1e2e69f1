import { Client, Server } from './processes.js'
import { referenceFolder } from './reference.js'
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
  /** Our CPU time divided by that of the reference commit; undefined: it was not measured. */
  ofReference?: Quartiles
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
 * Measures a scenario against its base, and the reference commit where it has one. The processes of each pair are new:
 * V8 optimizes the same code differently from process to process, by a fifth of a request. Their rounds take turns, so
 * that other work of the machine affects all.
 */
export async function measurePair (scenario: Scenario, options: PairOptions): Promise<Result> {
  const measured: Round[][] = []
  for (let pair = 0; pair < options.pairs; pair++) measured.push(await measureOnce(scenario, options))
  const [ours = [], theirs = [], references = []] = [0, 1, 2].map((side) => measured.flatMap((rounds) => rounds[side] ?? []))
  return {
    name: scenario.name,
    ratio: quartiles(ours.map(({ cpu }, i) => (theirs[i] as Round).cpu / cpu)),
    ...references.length > 0 && { ofReference: quartiles(ours.map(({ cpu }, i) => cpu / (references[i] as Round).cpu)) },
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
): Promise<Round[]> {
  const client = new Client()
  const flags = cpuProfiles === undefined
    ? []
    : ['--cpu-prof', `--cpu-prof-dir=${cpuProfiles}`, '--cpu-prof-interval=250']
  const servers = [
    await Server.start(scenario.subject.variant, { ...scenario.subject, flags }),
    await Server.start(scenario.base.variant, scenario.base)
  ]
  if (scenario.reference !== undefined) servers.push(await Server.start(scenario.reference, { folder: referenceFolder() }))
  const count = Math.ceil(Math.min(requests, scenario.requests ?? requests) / ROUNDS)
  const rounds = servers.map((): Round[] => [])
  try {
    // No more at once than can wait to be written, where a profile is large.
    const warm = Math.min(warmUp, scenario.warmUp ?? warmUp)
    for (const server of servers) {
      const since = performance.now()
      for (let left = warm; left > 0 && performance.now() - since < WARM_UP; left -= count) {
        await measureRound(client, server, scenario, Math.min(left, count))
      }
    }
    for (let round = 0; round < ROUNDS; round++) {
      for (const [i, server] of servers.entries()) rounds[i]?.push(await measureRound(client, server, scenario, count))
    }
  } finally {
    client.close()
    await Promise.all(servers.map((server) => server.close()))
  }
  return rounds.map(meanOf)
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
