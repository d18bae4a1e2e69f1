import { beginQuery, callAsync } from '../query.js'
import { runner } from '../run.js'
import { wrapMethod } from '../stack.js'
import { systemOf } from './knex.js'

interface Options { bind?: unknown, replacements?: unknown, transaction?: unknown }
interface Statement extends Options { query?: unknown, values?: unknown }
interface Transaction { rollback: () => Promise<void> }
type Send = (statement: string, options: Options) => Promise<[rows: unknown[]]>

/** The instance of Sequelize. */
export function isSequelize (client: Record<string, unknown>): boolean {
  return ['query', 'define', 'getDialect'].every((name) => typeof client[name] === 'function')
}

/** Models and transactions send each query by the method `query` of their instance. */
export function observeSequelize (sequelize: Record<string, unknown>): void {
  const system = systemOf((sequelize.getDialect as () => unknown)())
  const { query: send, transaction: begin } = sequelize as { query: Send, transaction: () => Promise<Transaction> }
  const run = runner(system, {
    open: () => begin.call(sequelize),
    send: async (transaction, statement) => (await send.call(sequelize, statement, { transaction }))[0],
    close: (transaction) => transaction.rollback()
  })
  wrapMethod(sequelize, 'query', (self, args, original) => {
    const [statement, options] = args as [string | Statement | undefined, Options | undefined]
    const { query: text, values } = typeof statement === 'object' ? statement : { query: statement }
    const parameters = values ?? options?.bind ?? options?.replacements
    const connection = options?.transaction
    const query = typeof text === 'string'
      ? beginQuery({ system, statement: text, parameters, layer: 'orm', connection, run })
      : null
    return callAsync(query, () => original.apply(self, args) as unknown, rowsOf)
  })
}

function rowsOf (result: unknown): number | undefined {
  if (result === null) return 0
  if (!Array.isArray(result)) return typeof result === 'number' ? result : undefined
  // Of a statement without a type: its rows, and what the driver says about it.
  const [first, second] = result as [unknown, { rowCount?: number, affectedRows?: number } | number | undefined]
  if (result.length !== 2 || !Array.isArray(first)) return result.length
  return typeof second === 'number' ? second : second?.rowCount ?? second?.affectedRows ?? first.length
}
