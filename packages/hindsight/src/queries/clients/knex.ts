import { announceQuery, beginQuery, endQuery, type Query } from '../query.js'
import type { Kind } from '../run.js'
import { wrapMethod } from '../stack.js'
import { rowsOf, systemOf } from './orm.js'

interface Sent { __knexQueryUid?: string, __knexUid?: string, sql?: unknown, bindings?: unknown }

export const knexKind: Kind = {
  name: 'instance of knex',
  methods: ['raw', 'emit', 'transaction'],
  is: (client) => client instanceof Function,
  observe: observeKnex
}

/** Reads the events of an instance, also those of its transactions, without a listener that others could see. */
function observeKnex (knex: Record<string, unknown>): void {
  const system = systemOf(Object(knex.client).dialect)
  const open = new Map<unknown, Query>()
  wrapMethod(knex, 'emit', (self, args, original) => {
    const [event, first, second] = args as [string, unknown, unknown]
    if (event === 'query') {
      const { __knexUid: connection, __knexQueryUid: id = connection, sql, bindings } = first as Sent
      const sent = { system, statement: String(sql), parameters: bindings, connection, client: knex }
      const query = beginQuery({ ...sent, isOuter: true })
      // The beginning and the end of a transaction have no event when they end, and streams have none.
      endQuery(open.get(connection))
      open.delete(connection)
      if (query !== null) {
        open.set(id, query)
        announceQuery(query)
      }
      if (/^(?:commit|rollback|release)/i.test(String(sql))) endQuery(query)
      if (open.size > MAX_OPEN) open.delete(open.keys().next().value)
    } else if (event === 'query-response' || event === 'query-error') {
      // Queries of a schema have no identifier.
      const { __knexUid: connection, __knexQueryUid: id = connection } = second as Sent
      endQuery(open.get(id), event === 'query-error' ? { error: first } : { rows: rowsOf(first) })
      open.delete(id)
    }
    return original.apply(self, args) as unknown
  })
  wrapMethod(knex, 'withUserParams', (self, args, original) => {
    const clone = original.apply(self, args) as Record<string, unknown>
    observeKnex(clone)
    return clone
  })
}

const MAX_OPEN = 1_000
