import type { Query } from '../../queries/query.js'
import { round } from '../collect.js'
import type { Finding } from './recorded-query.js'
import { shapeReader } from './sql.js'
import { identityOf, totalDuration, type Traced } from './trace.js'

export interface QueryGroup {
  shape: string
  statement: string
  system: string
  count: number
  /** How many different lists of parameters and literals they have, without those that are only counted. */
  distinct: number
  duration: number
  sources: string[]
  kind: 'n+1' | 'duplicates' | null
}

type Counted = Omit<QueryGroup, 'distinct' | 'sources' | 'kind'>

/** Queries that are only counted. */
export interface Further extends Counted {
  failed: number
  /** How many of those that have ended have these frames. */
  frames: Map<string, number>
}

/** Items with the same key, in the order of the first ones. */
export function groupedBy<T> (items: readonly T[], keyOf: (item: T) => unknown): T[][] {
  const groups = new Map<unknown, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return [...groups.values()]
}

/** `further`: the groups of queries that are only counted. */
export function queryGroups (
  queries: readonly Traced[], further: readonly Counted[], findings: readonly Finding[]
): QueryGroup[] {
  const all: ReadonlyArray<Traced | Counted> = [...queries, ...further]
  return groupedBy(all, ({ system, shape }) => `${system} ${shape}`).map((both): QueryGroup => {
    const { shape, statement, system } = both[0] as Traced | Counted
    const group = both.filter((one) => 'index' in one)
    const more = both.find((one) => 'count' in one)
    const found = findings.filter(({ queries }) => group.some(({ index }) => queries.includes(index)))
    return {
      shape,
      statement,
      system,
      count: group.length + (more?.count ?? 0),
      distinct: new Set(group.map(({ identity }) => identity)).size || 1,
      duration: round(totalDuration(group) + (more?.duration ?? 0)),
      sources: [...new Set(group.map(({ source }) => source).filter((source) => source !== null))],
      kind: (['n+1', 'duplicates'] as const).find((kind) => found.some((finding) => finding.kind === kind)) ?? null
    }
  })
}

/** Systems that are reached with the driver of another one. */
const DRIVERS: Readonly<Record<string, string>> = { mariadb: 'mysql', cockroachdb: 'postgresql' }

/** Some ORMs measure whole milliseconds. */
const TOLERANCE = 1

/**
 * The queries of drivers that are parts of queries of ORMs, where both were observed: they have the same system and
 * shape, or the same collection of MongoDB, and the one runs while the other does. Completes those of the ORM.
 */
export function driverQueries (queries: readonly Query[]): ReadonlySet<Query> {
  const found = new Set<Query>()
  const shapes = shapeReader()
  // Names of operations of ORMs differ from those of commands.
  const shape = ({ system, statement }: Query): string =>
    system === 'mongodb' ? statement.replace(/\.[^.]*$/, '') : shapes(system)(statement)
  for (const query of queries.filter(({ layer }) => layer === 'orm')) {
    const { startedAt, endedAt = Infinity } = query
    const candidates = queries.filter((other) => other.layer !== 'orm' && !found.has(other) &&
      (other.system === query.system || other.system === DRIVERS[query.system]) &&
      other.startedAt >= startedAt - TOLERANCE && (other.endedAt ?? Infinity) <= endedAt + TOLERANCE &&
      shape(other) === shape(query))
    // Queries that run at the same time may differ in their parameters only.
    const parameters = comparedParameters(query)
    const part = candidates.find((other) => comparedParameters(other) === parameters) ?? candidates[0]
    if (part === undefined) continue
    found.add(part)
    // Mongoose publishes a part of the command.
    if (query.system === 'mongodb') Object.assign(query, { parameters: part.parameters, isWhole: true })
    for (const name of ['wait', 'rows', 'error', 'run', 'result', 'connection'] as const) {
      if (query[name] === undefined && part[name] !== undefined) Object.assign(query, { [name]: part[name] })
    }
  }
  return found
}

/** Of MongoDB, what an operation and its command have in common. */
function comparedParameters ({ system, parameters }: Query): string | null {
  return identityOf(system === 'mongodb' ? Object(parameters).filter : parameters)
}
