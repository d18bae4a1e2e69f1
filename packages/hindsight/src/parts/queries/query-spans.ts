import { cachedFunction } from '../../call.js'
import type { Query } from '../../queries/query.js'
import type { SpanOwner } from '../../recording/recording.js'
import { addressOf } from '../read.js'
import { shapeOf } from './sql.js'
import { isSql } from './tokens.js'

/** Milliseconds by which the clocks of spans and queries differ. */
const MAX_SKEW = 2

/**
 * Returns a function that finds the query which a span of OpenTelemetry also records: the statement is the same, but
 * for its values, and the times overlap. A query has one span.
 */
export function queryOfSpan (queries: readonly Query[]): SpanOwner {
  const left = new Set(queries)
  // To read the shape of a statement takes 10 µs.
  const shapes = cachedFunction((system: string) => cachedFunction((statement: string) => shapeOf(system, statement)))
  // The second names are those before version 1.26 of the semantic conventions.
  const isSame = ({ system, statement }: Query, attributes: Readonly<Record<string, unknown>>): boolean => {
    // The spans of Prisma have no statement.
    if (system === 'prisma') return attributes.name === statement
    const text = String(attributes['db.query.text'] ?? attributes['db.statement'] ?? '')
    if (isSql(system)) return text !== '' && shapes(system)(text) === shapes(system)(statement)
    const operation = attributes['db.operation.name'] ?? attributes['db.operation'] ?? text.split(' ', 1)[0]
    return String(operation).toLowerCase() === statement.split('.').at(-1)?.toLowerCase()
  }
  return ({ attributes, startedAt, endedAt }) => {
    const distance = (query: Query): number => Math.abs(query.startedAt - startedAt)
    const [query] = [...left].filter((query) => startedAt <= (query.endedAt ?? Infinity) + MAX_SKEW &&
      endedAt >= query.startedAt - MAX_SKEW && isSame(query, attributes)).sort((a, b) => distance(a) - distance(b))
    if (query === undefined) return null
    left.delete(query)
    return addressOf('queries', `query-${queries.indexOf(query) + 1}`)
  }
}
