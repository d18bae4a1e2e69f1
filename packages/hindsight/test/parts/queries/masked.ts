import t from 'tap'
import { createMask } from '../../../src/mask/mask.js'
import { queryReader } from '../../../src/parts/queries/mask-query.js'

/** A query, with values that must be hidden and values that must stay. */
export type Row = readonly [system: string, statement: string, parameters: unknown, hidden: readonly string[], kept: readonly string[]]

export const P = 'postgresql'
/** A secret. */
export const S = 'Hidd3n'

/** Tests what is shown of queries: their statements, parameters and shapes. */
export function testMasks (name: string, rows: readonly Row[]): void {
  t.test(name, async t => {
    const read = queryReader(createMask())
    for (const [system, sql, given, hidden, kept] of rows) {
      const { statement, parameters, shape } = read(system, sql, given)
      const text = `${statement} ${JSON.stringify(parameters)}`
      const name = `${sql.slice(0, 200)} ${JSON.stringify(given)}`
      for (const value of hidden) t.notOk(`${text} ${shape}`.includes(value), `${name} hides ${value}: ${text}`)
      for (const value of kept) t.ok(text.includes(value), `${name} keeps ${value}: ${text}`)
    }
  })
}
