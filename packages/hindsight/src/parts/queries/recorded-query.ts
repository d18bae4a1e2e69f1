/** Characters of a statement that are recorded. */
export const MAX_STATEMENT = 10_000

/** A query as a profile has it, masked. Times are milliseconds since the request arrived. */
export interface RecordedQuery {
  system: string
  statement: string
  parameters?: unknown
  start: number
  /** Milliseconds; null: it had not ended when the profile was built. */
  duration: number | null
  /** Milliseconds that it waited for a connection of its pool. */
  wait?: number | undefined
  /** The number of the event of the hook that has started it. */
  hook?: number | undefined
  rows: number | null
  /** The line of the application that sent it, `file:line:column`; null: unknown. */
  source: string | null
  /** Where its line is unknown: the code that has sent it, such as `the handler of GET /users (users.js:7)`. */
  sender?: string | undefined
  /** See `shapeOf`. */
  shape: string
  error?: QueryError | undefined
}

/** The message of a failed query, and the fields of the error of its database. */
export interface QueryError { message: string, [property: string]: string | number }

/** What is remarkable about queries of a request. */
export interface Finding {
  kind: 'n+1' | 'repeated' | 'duplicates' | 'slow' | 'transaction' | 'pool'
  text: string
  queries: number[]
}
