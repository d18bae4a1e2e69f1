import { runStatements, type Run, type Kind } from '../run.js'

interface Connection {
  query: (statement: string) => Promise<[rows: unknown[]]>
  release: () => void
}
interface Pool { getConnection: () => Promise<Connection>, config: { connectionConfig: Address } }
interface Address { host?: string, port?: number, socketPath?: string, database?: string }

export const mysql2Kind: Kind = {
  name: 'Pool of mysql2',
  methods: ['getConnection', 'query', 'execute', 'releaseConnection'],
  observe: observeMysql2
}

const kRuns = Symbol.for('fastify-hindsight.mysql2')
/** What runs statements on the last pool of each database, in all copies of this package. */
const runs = (globalThis as { [kRuns]?: Map<string, Run> })[kRuns] ??= new Map()

/** Its channels publish the queries of each pool, but not the pool, which runs the statement for a plan. */
function observeMysql2 (client: object): void {
  const { promise, pool: core } = client as { promise?: () => Pool, pool?: Pool }
  const pool = promise === undefined ? client as Pool : promise.call(client)
  const { host, port, socketPath, database } = (core ?? client as Pool).config.connectionConfig
  runs.set(keyOf(socketPath ?? host, socketPath === undefined ? port : undefined, database), runStatements({
    open: () => pool.getConnection(),
    send: async (connection, statement) => (await connection.query(statement))[0],
    close: (connection) => connection.release()
  }))
}

/** What runs statements on a database; the address is that of the messages of mysql2. */
export function mysqlRun ({ serverAddress, serverPort, database }: Record<string, unknown>): Run | undefined {
  return runs.get(keyOf(serverAddress, serverPort, database))
}

function keyOf (address: unknown, port: unknown, database: unknown): string {
  return JSON.stringify([address, port, database || ''])
}
