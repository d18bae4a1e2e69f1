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
  const kinds = new Map<number, QueryGroup['kind']>()
  for (const kind of ['duplicates', 'n+1'] as const) {
    for (const finding of findings) if (finding.kind === kind) for (const i of finding.queries) kinds.set(i, kind)
  }
  const keyOf = ({ system, shape }: Counted | Traced): string => `${system} ${shape}`
  const counted = new Map(further.map((group) => [keyOf(group), group]))
  const groups = groupedBy(queries, keyOf).map((group): QueryGroup => {
    const [first] = group as [Traced]
    const { shape, statement, system } = first
    const more = counted.get(keyOf(first))
    counted.delete(keyOf(first))
    const found = new Set(group.map(({ index }) => kinds.get(index)))
    return {
      shape,
      statement,
      system,
      count: group.length + (more?.count ?? 0),
      distinct: new Set(group.map(({ identity }) => identity)).size,
      duration: round(totalDuration(group) + (more?.duration ?? 0)),
      sources: [...new Set(group.map(({ source }) => source).filter((source) => source !== null))],
      kind: found.has('n+1') ? 'n+1' : found.has('duplicates') ? 'duplicates' : null
    }
  })
  return [...groups, ...[...counted.values()].map(({ shape, statement, system, count, duration }): QueryGroup =>
    ({ shape, statement, system, count, distinct: 1, duration: round(duration), sources: [], kind: null }))]
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
