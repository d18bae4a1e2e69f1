import { roundTime } from '../../clock.js'
import { groupedBy } from '../read.js'
import type { Finding } from './recorded-query.js'
import type { Traced } from './trace.js'

export interface QueryGroup {
  shape: string
  statement: string
  system: string
  count: number
  /** How many different lists of parameters and literals they have, without those that are only counted. */
  distinct: number
  duration: number
  sources: string[]
  kind: 'n+1' | 'repeated' | 'duplicates' | null
}

/** Queries of one shape and line, `file:line:column`, that are only counted when they have ended. */
export interface Further extends Omit<QueryGroup, 'distinct' | 'sources' | 'kind'> {
  failed: number
  source: string | null
}

const KINDS = ['n+1', 'repeated', 'duplicates'] as const

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
    const more = both.filter((one) => 'count' in one)
    const found = findings.filter(({ queries }) => group.some(({ index }) => queries.includes(index)))
    return {
      shape,
      statement,
      system,
      count: more.reduce((sum, { count }) => sum + count, group.length),
      distinct: new Set(group.map(({ identity }) => identity)).size || 1,
      duration: roundTime(both.reduce((sum, { duration }) => sum + (duration ?? 0), 0)),
      sources: [...new Set(both.map(({ source }) => source))].filter((source) => source !== null),
      kind: KINDS.find((kind) => found.some((finding) => finding.kind === kind)) ?? null
    }
  })
}
