import { beginQuery, callSync, endQuery, withinQuery, type Query, type RowsOf } from '../query.js'
import type { Kind, Run } from '../run.js'
import { wrapMethod } from '../stack.js'

interface Statement { all: (...parameters: unknown[]) => unknown[] }
interface Database {
  prepare: (sql: string) => Statement
  location?: () => string | null
  name?: string
  memory?: boolean
}

export const SQLITE: string = 'node:sqlite'
type Class = { name: string, prototype: object }
type Module = Partial<Record<'DatabaseSync' | 'StatementSync', Class>>
/** The prototypes of the observed clients. */
const prototypes = new Set<object>()

/** The class of node:sqlite that has a method, where all observed clients are of node:sqlite. */
export function sqliteClassOf (method: string): string | undefined {
  const [prototype, other] = prototypes
  // The module prints a warning when it is loaded.
  if (prototype?.constructor.name !== 'DatabaseSync' || other !== undefined) return undefined
  const { DatabaseSync, StatementSync } = Object(process.getBuiltinModule(SQLITE)) as Module
  if (prototype !== DatabaseSync?.prototype) return undefined
  return [StatementSync, DatabaseSync].find((one) => Object.hasOwn(one?.prototype ?? {}, method))?.name
}

export const sqliteKind: Kind = {
  name: 'DatabaseSync of node:sqlite or @photostructure/sqlite, Database of better-sqlite3',
  methods: ['prepare', 'exec'],
  is: (client) => typeof (client.function ?? client.pragma) === 'function',
  observe: observeSqlite
}

function observeSqlite (client: Record<string, unknown>): void {
  const prepare = client.prepare as Database['prepare']
  prototypes.add(Object.getPrototypeOf(client) as object)
  // Statements before the last one change nothing in SQLite: its plan needs no transaction.
  const run: Run = async (statements) => prepare.call(client, statements.at(-1) ?? '').all()
  const [system, connection] = ['sqlite', client]
  const begin = (statement: unknown, parameters?: unknown): Query | null => {
    if (typeof statement !== 'string') return null
    return beginQuery({ system, statement, parameters, connection, run, client: fileOf(client as never) })
  }

  wrapMethod(client, 'exec', (self, args, original) => {
    return callSync(begin(args[0]), () => original.apply(self, args) as unknown, () => undefined)
  })
  wrapMethod(client, 'prepare', (self, args, original) => {
    const [text] = args as unknown[]
    let statement: object
    try {
      statement = original.apply(self, args) as object
    } catch (error) {
      // A statement that is wrong fails when it is prepared.
      endQuery(begin(text), { error })
      throw error
    }
    observeMethods(statement, (args) => begin(text, parametersOf(args)))
    return statement
  })
  // A store that is written in JavaScript calls `prepare`.
  if (!String(client.createTagStore).includes('[native code]')) return
  // Its methods are the tags of templates.
  wrapMethod(client, 'createTagStore', (self, args, original) => {
    const store = original.apply(self, args) as object
    observeMethods(store, ([texts, ...values]) => begin(Array.isArray(texts) ? texts.join('?') : texts, values))
    return store
  })
}

/** The file that several connections may have open; undefined where it is not known, and in memory. */
function fileOf (client: Database): string | undefined {
  const { location, name, memory } = client
  // Of better-sqlite3.
  if (memory === false) return name
  try {
    return location?.call(client) ?? undefined
  } catch {
    // It is not open.
    return undefined
  }
}

/** Replaces the methods that execute a statement. */
function observeMethods (object: object, begin: (args: unknown[]) => Query | null): void {
  for (const [method, rowsOf] of METHODS) {
    wrapMethod(object, method, (self, args, original) => {
      return callSync(begin(args), () => original.apply(self, args) as unknown, rowsOf)
    })
  }
  wrapMethod(object, 'iterate', (self, args, original) => {
    const query = begin(args)
    return callSync(query, () => original.apply(self, args) as Iterator<unknown>, () => undefined, (rows) => {
      let count = 0
      for (const name of query === null ? [] : ['next', 'return']) {
        wrapMethod(rows, name, (self, args, original) => {
          const step = withinQuery(query, () => original.apply(self, args) as IteratorResult<unknown>)
          if (step.done === true) endQuery(query, { rows: count })
          else count++
          return step
        })
      }
    })
  })
}

/** A list of values, or an object with the values of named parameters. */
function parametersOf (args: unknown[]): unknown {
  const [first] = args
  const isOne = args.length === 1 && typeof first === 'object' && first !== null && !ArrayBuffer.isView(first)
  if (isOne) return first
  return args
}

const METHODS: ReadonlyArray<[name: string, rowsOf: RowsOf<any>]> = [
  ['all', (rows: unknown[]) => rows.length],
  ['get', (row: unknown) => row === undefined ? 0 : 1],
  ['run', ({ changes }: { changes: number | bigint }) => Number(changes)]
]
