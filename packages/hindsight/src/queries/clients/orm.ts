import { callAsync, endWait, runningQuery } from '../query.js'
import { wrapMethod } from '../stack.js'

/** Systems by the names of ORMs and of Knex. */
const SYSTEMS: Readonly<Record<string, string>> = {
  postgres: 'postgresql',
  'aurora-postgres': 'postgresql',
  'aurora-mysql': 'mysql',
  'better-sqlite3': 'sqlite',
  mssql: 'microsoft.sql_server',
  sqlite3: 'sqlite'
}

export function systemOf (dialect: unknown): string {
  return SYSTEMS[String(dialect)] ?? String(dialect)
}

/** Replaces the method with which an ORM waits for a connection for the query that it runs. */
export function observeWaits (object: object, method: string): void {
  wrapMethod(object, method, (self, args, original) => {
    const query = runningQuery()
    return callAsync(null, () => original.apply(self, args) as unknown, () => { if (query !== null) endWait(query) })
  })
}

interface Result { rowCount?: number, affectedRows?: number, affected?: number, rows?: unknown[], records?: unknown[] }

/** The rows that a statement has returned or affected; its result may be a list of rows and of their description. */
export function rowsOf (result: unknown): number | undefined {
  if (result === null || typeof result === 'number') return result ?? 0
  if (!Array.isArray(result)) {
    const { rowCount, affectedRows, affected, rows, records } = Object(result) as Result
    return rowCount ?? affectedRows ?? affected ?? rows?.length ?? records?.length
  }
  const [rows, about] = result as [unknown, unknown]
  if (result.length !== 2) return result.length
  // Of Sequelize: an instance or rows, and how many were changed.
  if (about === null || typeof about === 'number') return about ?? 1
  if (!Array.isArray(rows) && about !== undefined) return result.length
  // Of mysql2: rows and fields, or what was changed and nothing.
  return (Array.isArray(about) ? undefined : rowsOf(about)) ?? (Array.isArray(rows) ? rows.length : rowsOf(rows))
}
