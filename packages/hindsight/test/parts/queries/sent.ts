import { resolve } from 'node:path'
import { createMask } from '../../../src/mask/mask.js'
import { queryReader } from '../../../src/parts/queries/mask-query.js'
import { identityOf, type Traced } from '../../../src/parts/queries/trace.js'

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
  /** Milliseconds until it had a connection, before it began. */
  wait?: number
  /** Its database. */
  client?: number
  /** That of its database is a pool. */
  connection?: number
  /** Connections of its pool, of which none was free. */
  exhausted?: number
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
    const { client = 0, wait, connection, exhausted } = query
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
      identity: `${client} ${system} ${sql} ${shown.isHidden === true ? index : String(identityOf(parameters))}`,
      isComplete: shown.isHidden !== true,
      frames,
      client,
      connection,
      exhausted
    }
  })
}

function framesOf (from: string): Traced['frames'] {
  if (from === '') return []
  return from.split(' < ').map((call) => {
    const [place = ''] = call.split(' ')
    return { source: resolve('src', /:\d+:\d+$/.test(place) ? place : `${place}:7`) }
  })
}
