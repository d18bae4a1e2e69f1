import { resolve } from 'node:path'
import { createMask } from '../../../src/mask/mask.js'
import { queryReader } from '../../../src/parts/queries/mask-query.js'
import { identityOf, type Caller, type Traced } from '../../../src/parts/queries/trace.js'

/** A query that code sent, as the tests write it. */
export interface Sent {
  /** Calls of own code, the innermost first: `db.js:10 query < orders.js:31 list`. */
  from: string
  sql: string
  parameters?: unknown
  system?: string
  rows?: number
  /** Milliseconds. */
  ms?: number
  /** Milliseconds between the query before and this one. */
  pause?: number
  /** Whether it is sent together with the one before. */
  together?: boolean
  error?: string
  /** The row that was returned. */
  row?: unknown
  /** Milliseconds until it had a connection, before it began. */
  wait?: number
  /** Its connection; null: unknown. */
  connection?: string | null
  /** Its database. */
  client?: number
  /** The position of the call of the outermost function in a list of `Promise.all`. */
  position?: number
}

export function times<T> (count: number, make: (i: number) => T | T[]): T[] {
  return Array.from({ length: count }, (_, i) => make(i)).flat() as T[]
}

const read = queryReader(createMask())

/** Queries as they are recorded. */
export function recordedFrom (sent: readonly Sent[]): Traced[] {
  let [last, until] = [0, 0]
  return sent.map((query, index): Traced => {
    const { from, sql, parameters, system = 'postgresql', rows, ms = 4, pause = 0.2, together = false, error } = query
    const { row, connection = 'one', position, client = 0, wait } = query
    if (!together) last = until + pause
    until = Math.max(until, last + ms)
    const frames = framesOf(from)
    const shown = read(system, sql, parameters)
    return {
      ...shown,
      system,
      start: last,
      duration: ms,
      rows: rows ?? 1,
      source: frames[0]?.source ?? null,
      ...(wait !== undefined && { wait }),
      ...(error !== undefined && { error: { message: error } }),
      index,
      identity: `${client} ${system} ${sql} ${identityOf(shown.isHidden === true ? row : parameters)}`,
      isComplete: shown.isHidden !== true,
      caller: {
        frames,
        position: position === undefined ? '' : `(index ${position})`,
        isResumed: false
      },
      result: row,
      connection: connection ?? undefined,
      client
    }
  })
}

function framesOf (from: string): Caller['frames'] {
  if (from === '') return []
  return from.split(' < ').map((call) => {
    const [place = '', ...name] = call.split(' ')
    const source = resolve('src', /:\d+:\d+$/.test(place) ? place : `${place}:7`)
    const [, file = '', line, column] = /^(.*):(\d+):(\d+)$/.exec(source) ?? []
    return { source, file, line: Number(line), column: Number(column), function: name.join(' ') || '<anonymous>' }
  })
}
