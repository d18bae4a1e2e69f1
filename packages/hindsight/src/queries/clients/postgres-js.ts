import { beginQuery, endQuery, type Query } from '../query.js'
import type { Kind } from '../run.js'
import {
  cleanStack, frameLimit, framesHere, removeInternalFrames, setStack, withoutFrames, wrapFunction, wrapMethod
} from '../stack.js'

type Sql = ((...args: any[]) => unknown) & Record<string, unknown>
type Settle = (value: unknown) => unknown

/** A query that is sent when it is awaited; as a fragment of another one, never. */
interface Pending extends Promise<unknown> {
  strings: readonly string[]
  handler: ((...args: unknown[]) => unknown) & { debug?: unknown }
  resolve: Settle
  reject: Settle
  /** The frames that are appended to the stack of its error. */
  origin: string
  /** The statement and its parameters, when it was sent. */
  string?: string
  parameters?: unknown[]
}

export const postgresJsKind: Kind = {
  name: 'sql of postgres',
  methods: ['unsafe', 'begin', 'file'],
  is: (client) => client instanceof Function,
  observe: observePostgresJs
}

/** What the queries of a client, of a transaction or of a reserved connection have in common. */
interface Common { connection: unknown, client: object }

/** Of the transaction that is begun: the client sends its first statement like one of its own. */
let begun: Common | null = null

/** Returns a proxy: a query is made by a call of the client itself. */
function observePostgresJs (sql: Sql, common: Common = { client: sql, connection: sql }): Sql {
  const observed = wrapFunction(sql, (self, args, original) => observePending(original.apply(self, args), common))
  const target = (self: unknown): unknown => self === observed ? sql : self
  for (const name of ['unsafe', 'file']) {
    wrapMethod(sql, name, (self, args, original) => observePending(original.apply(target(self), args), begun ?? common))
  }
  for (const name of ['begin', 'savepoint']) {
    wrapMethod(sql, name, (self, args, original) => {
      const transaction = new Transaction(name === 'begin', common)
      const observedArgs = args.map((arg: unknown) => {
        return typeof arg === 'function' ? transaction.observe(arg as (sql: Sql) => unknown) : arg
      })
      begun = transaction.common
      try {
        const result = original.apply(target(self), observedArgs) as Promise<unknown>
        return result.finally(() => endQuery(transaction.end))
      } finally {
        begun = null
      }
    })
  }
  wrapMethod(sql, 'reserve', (self, args, original) => {
    return (original.apply(target(self), args) as Promise<Sql>).then((reserved) =>
      observePostgresJs(reserved, { ...common, connection: reserved }))
  })
  return observed
}

/** The client sends the end of a transaction by itself. */
class Transaction {
  end: Query | null = null
  readonly #frames = framesHere()
  readonly #isOuter: boolean
  /** Of a savepoint, that of its transaction. */
  readonly common: Common

  constructor (isOuter: boolean, common: Common) {
    this.#isOuter = isOuter
    this.common = isOuter ? { ...common, connection: this } : common
  }

  observe (callback: (sql: Sql) => unknown): (sql: Sql) => unknown {
    return wrapFunction(callback, (self, [sql, ...rest], original) => {
      const result: unknown = original.call(self, observePostgresJs(sql as Sql, this.common), ...rest)
      const begin = (statement: string): void => {
        this.end = beginQuery({ system: 'postgresql', statement, frames: this.#frames, ...this.common })
      }
      const limit = frameLimit()
      Promise.all(Array.isArray(result) ? result : [result]).then(() => {
        if (this.#isOuter) begin('commit')
      }, (error: unknown) => {
        removeInternalFrames(error, limit)
        begin(this.#isOuter ? 'rollback' : 'rollback to savepoint')
      })
      return result
    })
  }
}

function observePending (pending: unknown, common: Common): unknown {
  if (!isPending(pending)) return pending
  repairOrigin(pending)
  const frames = framesHere()
  if (frames === undefined) return pending
  let query: Query | null = null
  let limit = 0
  const observed = new Set<Settle>()
  const observeEnd = (): void => {
    for (const name of ['resolve', 'reject'] as const) {
      if (observed.has(pending[name])) continue
      pending[name] = wrapFunction(pending[name], (self, args, original) => {
        if (name === 'reject') repairStack(args[0], pending.origin, limit)
        if (query !== null) {
          const [result] = args as [{ count?: number } | undefined]
          Object.assign(query, { statement: pending.string ?? query.statement, parameters: pending.parameters })
          endQuery(query, name === 'reject' ? { error: result } : { rows: result?.count ?? undefined })
        }
        return original.apply(self, args)
      })
      observed.add(pending[name])
    }
  }
  pending.handler = wrapFunction(pending.handler, (self, args, original) => {
    limit = frameLimit()
    const statement = pending.strings.join('?')
    query = beginQuery({ system: 'postgresql', statement, parameters: [], frames, ...common })
    observeEnd()
    return original.apply(self, args)
  })
  wrapMethod(pending, 'cursor', (self, args, original) => {
    const cursor = original.apply(self, args) as object
    if (cursor !== pending) {
      // Each step of its iterator has other functions that end the query.
      wrapMethod(cursor, Symbol.asyncIterator, (self, args, original) => {
        const iterator = original.apply(self, args) as object
        wrapMethod(iterator, 'next', (self, args, original) => {
          const step: unknown = original.apply(self, args)
          if (query !== null) observeEnd()
          return step
        })
        return iterator
      })
    }
    return cursor
  })
  return pending
}

function isPending (value: unknown): value is Pending {
  return value instanceof Promise && 'handler' in value && 'strings' in value
}

const repaired = new WeakSet<Error>()
/** Frames of an error that the client makes once for each place of a statement. */
const ORIGIN_FRAMES = 4

// The client appends the frames of such an error, which begin with its own three, to the error of the query.
function repairOrigin (pending: Pending): void {
  const values = Object.getOwnPropertySymbols(pending).map((symbol) => (pending as never)[symbol] as unknown)
  const origin = values.find((value): value is Error => value instanceof Error)
  if (origin === undefined || repaired.has(origin)) return
  repaired.add(origin)
  if (pending.handler.debug !== undefined) return removeInternalFrames(origin, frameLimit())
  const lines = withoutFrames(String(origin.stack).split('\n'))
  const caller = withoutFrames(String(new Error('').stack).split('\n')).slice(1)
  origin.stack = [...lines, ...caller].slice(0, 1 + ORIGIN_FRAMES).join('\n')
}

function repairStack (error: unknown, origin: string, limit: number): void {
  if (!(error instanceof Error) || typeof error.stack !== 'string') return
  const appended = origin.replace(/.*\n/, '\n')
  let { stack } = error
  if (stack.endsWith(appended)) stack = stack.slice(0, stack.length - appended.length)
  setStack(error, cleanStack(stack, limit) + error.stack.slice(stack.length))
}
