import { round } from '../collect.js'
import { groupedBy } from '../read.js'
import type { Finding } from './recorded-query.js'
import { totalDuration, type Traced } from './trace.js'

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

/** Queries that are only counted. */
export interface Further extends Omit<QueryGroup, 'distinct' | 'sources' | 'kind'> {
  failed: number
  /** How many of those that have ended were sent from a line, `file:line:column`; null: it is unknown. */
  sources: Map<string | null, number>
}

/** `further`: the groups of queries that are only counted. */
export function queryGroups (
  queries: readonly Traced[], further: readonly Further[], findings: readonly Finding[]
): QueryGroup[] {
  const all: ReadonlyArray<Traced | Further> = [...queries, ...further]
  const shapes = [...groupedBy(all, ({ shape }) => shape).values()]
    .flatMap((group) => [...groupedBy(group, ({ system }) => system).values()])
  return shapes.map((both): QueryGroup => {
    const { shape, statement, system } = both[0] as Traced | Further
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
      sources: [...new Set([...group.map(({ source }) => source), ...more?.sources.keys() ?? []])]
        .filter((source) => source !== null),
      kind: (['n+1', 'duplicates'] as const).find((kind) => found.some((finding) => finding.kind === kind)) ?? null
    }
  })
}
