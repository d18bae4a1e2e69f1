import { beginQuery, callAsync, endQuery, type Query } from '../query.js'
import type { Kind } from '../run.js'
import { wrapMethod } from '../stack.js'
import { observeWaits, rowsOf, systemOf } from './orm.js'

export const typeormKind: Kind = {
  name: 'DataSource of typeorm',
  methods: ['createQueryRunner', 'getRepository'],
  observe: observeTypeorm
}

/** Each query of a data source, its repositories and transactions is sent by one of its query runners. */
function observeTypeorm (dataSource: Record<string, unknown>): void {
  const system = systemOf(Object(dataSource.options).type)
  const seen = new WeakSet<object>()
  wrapMethod(dataSource, 'createQueryRunner', (self, args, original) => {
    const runner = original.apply(self, args) as object
    // Of SQLite there is one.
    if (seen.has(runner)) return runner
    seen.add(runner)
    const common = { system, connection: runner, client: dataSource, isOuter: true }
    const begin = ([statement, parameters]: unknown[]): Query | null =>
      beginQuery({ ...common, statement: String(statement), parameters })
    wrapMethod(runner, 'query', (self, args, original) => {
      return callAsync(begin(args), () => original.apply(self, args) as unknown, rowsOf)
    })
    wrapMethod(runner, 'stream', (self, args, original) => {
      const query = begin(args)
      return callAsync(query, () => original.apply(self, args) as object, rowsOf, (stream) => {
        // A listener of `error` would take errors from the application.
        wrapMethod(stream, 'emit', (self, args, original) => {
          if (args[0] === 'error') endQuery(query, { error: args[1] })
          if (args[0] === 'end' || args[0] === 'close') endQuery(query)
          return original.apply(self, args) as unknown
        })
      })
    })
    observeWaits(runner, 'connect')
    return runner
  })
}
