import { flattenError } from '../../errors/masked-exceptions.js'
import { read } from '../../errors/thrown-value.js'
import type { Mask } from '../../mask/mask.js'
import type { Query } from '../../queries/query.js'
import { cut } from '../../view/text.js'
import { shownPosition } from './mask-query.js'
import { MAX_STATEMENT, type QueryError } from './recorded-query.js'

/** Fields of errors of databases: those of PostgreSQL, MySQL and SQLite. */
const ERROR_FIELDS = [
  'code', 'severity', 'detail', 'hint', 'position', 'where', 'schema', 'table', 'column', 'constraint', 'errno',
  'sqlState', 'errcode', 'errstr'
]

/** The error of a query, masked; `texts`: the tokens of its statement, as they are shown. */
export function errorOf (
  given: unknown, mask: Mask, { system, statement }: Query, texts?: readonly string[]
): QueryError {
  const parent = read(given, 'parent')
  // Of Sequelize: that of the database.
  const error = parent instanceof Error ? parent : given
  const shown = (text: string): string => mask.text(cut(text, 1_000))
  const sent = read(error, 'sql')
  // Sequelize has replaced names: the position is that in another text.
  const isOther = typeof sent === 'string' && sent !== statement
  const fields = ERROR_FIELDS.filter((name) => name !== 'position' || !isOther).flatMap((name) => {
    const value = read(error, name)
    return typeof value === 'number' ? [[name, value]] : typeof value === 'string' ? [[name, shown(value)]] : []
  })
  const position = isOther ? 0 : Number(read(error, 'position'))
  // Of Prisma: after an excerpt of the code.
  const message = flattenError(error)[0]?.message.replace(/^\s*Invalid `[^]*\n/, '') ?? ''
  return {
    message: mask.text(cut(message, 2_000)),
    ...Object.fromEntries(fields),
    ...position > 0 && { position: shownPosition(system, cut(statement, MAX_STATEMENT), texts, position) }
  }
}
