import { beginQuery, callAsync } from '../query.js'
import { runner, type Kind } from '../run.js'
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
  const create = dataSource.createQueryRunner as () => Runner
  const run = runner(system, {
    open: async () => create.call(dataSource),
    send: (connection, statement) => connection.query(statement),
    close: (connection) => connection.release()
  })
  const seen = new WeakSet<object>()
  wrapMethod(dataSource, 'createQueryRunner', (self, args, original) => {
    const runner = original.apply(self, args) as object
    // Of SQLite there is one.
    if (seen.has(runner)) return runner
    seen.add(runner)
    wrapMethod(runner, 'query', (self, args, original) => {
      const [statement, parameters] = args as [unknown, unknown]
      const sent = { system, statement: String(statement), parameters, connection: runner, run }
      const query = beginQuery({ ...sent, layer: 'orm' })
      return callAsync(query, () => original.apply(self, args) as unknown, rowsOf)
    })
    observeWaits(runner, 'connect')
    return runner
  })
}

interface Runner {
  query: (statement: string) => Promise<unknown[]>
  release: () => Promise<void>
}
