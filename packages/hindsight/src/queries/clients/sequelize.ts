import { beginQuery, callAsync } from '../query.js'
import type { Kind } from '../run.js'
import { wrapMethod } from '../stack.js'
import { observeWaits, rowsOf, systemOf } from './orm.js'

interface Options { bind?: unknown, replacements?: unknown, transaction?: unknown, plain?: boolean, type?: string }
interface Statement { query?: unknown, values?: unknown, bind?: unknown }

export const sequelizeKind: Kind = {
  name: 'instance of sequelize',
  methods: ['query', 'define', 'getDialect'],
  observe: observeSequelize
}

/** Models and transactions send each query by the method `query` of their instance. */
function observeSequelize (sequelize: Record<string, unknown>): void {
  const system = systemOf((sequelize.getDialect as () => unknown)())
  wrapMethod(sequelize, 'query', (self, args, original) => {
    const [statement, options] = args as [string | Statement | undefined, Options | undefined]
    const { query: text, values, bind }: Statement = typeof statement === 'object' ? statement : { query: statement }
    const { transaction: connection, plain, type, ...others } = options ?? {}
    const parameters = values ?? bind ?? others.bind ?? others.replacements
    const query = typeof text === 'string'
      ? beginQuery({ system, statement: text.trim(), parameters, isOuter: true, connection, client: sequelize })
      : null
    return callAsync(query, () => original.apply(self, args) as unknown, (result) => {
      if (plain === true && result !== null) return 1
      // It returns an empty list, whatever it has deleted.
      if (type !== 'DELETE') return rowsOf(result)
    })
  })
  observeWaits(Object(sequelize.connectionManager) as object, 'getConnection')
}
