/** A kind of client that `observe` accepts. */
export interface Kind {
  /** The name in messages. */
  name: string
  /** The methods that it has, and whether an object with these is one. */
  methods: readonly string[]
  is?: (client: Record<string, unknown>) => boolean
  /** Replaces methods of the client; returns an object only where the observed one is another. */
  observe: (client: any) => object | void
}

/** Runs statements one after the other on one connection, and returns the rows of the last one. */
export type Run = (statements: readonly string[]) => Promise<unknown[]>

/** How a client runs statements on a connection of its own. */
interface Connections<C> {
  open: () => Promise<C>
  send: (connection: C, statement: string) => Promise<unknown[]>
  close: (connection: C) => unknown
}

/** Runs statements in a transaction that is rolled back. */
export function runStatements<C> ({ open, send, close }: Connections<C>): Run {
  return async (statements) => {
    const connection = await open()
    try {
      let rows: unknown[] = []
      for (const statement of statements) rows = await send(connection, statement)
      return rows
    } finally {
      await send(connection, 'rollback').catch(() => {})
      await close(connection)
    }
  }
}
