/** The part of the package that the service uses; its published types need those of Express. */
declare module 'connect-pg-simple' {
  import type { SessionStore } from './session-store.js'

  interface StoreOptions {
    pool: object
    schemaName?: string
    tableName?: string
    createTableIfMissing?: boolean
    pruneSessionInterval?: number | false
    /** Seconds. */
    ttl?: number
    errorLog?: (message: unknown, error: unknown) => void
  }

  export default function connectPgSimple (session: object): new (options: StoreOptions) => SessionStore & {
    close: () => Promise<void>
  }
}
