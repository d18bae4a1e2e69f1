import { NAME_FIELD, VALUE_FIELD } from '../../mask/names.js'
import { MASKED, type Mask } from '../../mask/mask.js'

const MAX_DEPTH = 12
/** Operators of MongoDB and stages of a pipeline that compare nothing: their values have fields of their own. */
const SEPARATE = new RegExp('^\\$(?:and|or|nor|not|expr|match|project|addFields|set|unset|group|facet|lookup|sort|' +
  'limit|skip|setOnInsert|push|addToSet|pull|inc|each|elemMatch|merge|unionWith|replaceWith|replaceRoot|sortByCount|' +
  'unwind)$')
/** Fields with the path of a field, of Prisma and of searches in MongoDB: `{ path: ['password'], equals: '…' }`. */
const PATH = /^(?:path|fields?|defaultPath)$/i

/**
 * A copy of a document of MongoDB or of an ORM without the values of expressions, where a text has the name of a
 * secret field: `{ $eq: ['$pin', 1] }`, and without those of a field whose name is elsewhere:
 * `[{ key: 'pin' }, { value: 1 }]`.
 */
export function withoutComparands (mask: Mask, root: unknown): unknown {
  const isName = (value: unknown): boolean => typeof value === 'string' && mask.mentions(value)
  const isNamed = some(root, (item, name) => NAME_FIELD.test(name) && typeof item === 'string' && mask.hides(item))
  // `'$pin'`, `'this.pin'`, `'set pin = :pin'`, `{ $getField: 'pin' }`
  const hasNames = some(root, (item, name) =>
    isName(item) && (/^\$|[.:]\w/.test(item as string) || /^(?:#|\$(?:getField|unsetField|where)$)/.test(name)))
  /** Fields and variables that have the value of an expression. */
  const results = new Set<string>()
  some(root, (item, name) => {
    const isExpression = isPlain(item) && Object.keys(item).some((key) => isOperator(key))
    const variable = typeof item === 'string' ? /^\$\$(\w+)$/.exec(item)?.[1] : undefined
    if (variable !== undefined) results.add(variable)
    if (!name.startsWith('$') && (isExpression || String(item).startsWith('$'))) results.add(name)
    return false
  })
  return copy(root, 0, false)

  function copy (value: unknown, depth: number, isHidden: boolean): unknown {
    if (Array.isArray(value) && depth <= MAX_DEPTH) return value.map((item) => copy(item, depth + 1, isHidden))
    if (!isPlain(value) || depth > MAX_DEPTH) {
      const isReference = typeof value === 'string' && /^\$\$?[a-z_][\w.]*$/i.test(value)
      return isHidden && !isReference ? masked(value) : value
    }
    const entries = Object.entries(value)
    const hasPath = entries.some(([name, item]) => PATH.test(name) && [item].flat().some(isName))
    return Object.fromEntries(entries.map(([name, item]) => {
      const isValue = (hasPath && !PATH.test(name)) || (isNamed && VALUE_FIELD.test(name) && !isPlain(item))
      return [name, copy(item, depth + 1, isHidden || isValue || (hasNames && (isOperator(name) || results.has(name))))]
    }))
  }
}

/** `$eq`, and `:pin` of `{ update: 'set password = :pin', values: { ':pin': '…' } }` */
function isOperator (name: string): boolean {
  return /^[$:]/.test(name) && !SEPARATE.test(name)
}

/** Whether a test holds for a value of a document or of one in it; `name` is that of its field. */
function some (value: unknown, test: (value: unknown, name: string) => boolean, name = '', depth = 0): boolean {
  if (test(value, name)) return true
  if (depth > MAX_DEPTH) return false
  if (Array.isArray(value)) return value.some((item) => some(item, test, name, depth + 1))
  return isPlain(value) && Object.entries(value).some(([field, item]) => some(item, test, field, depth + 1))
}

export function masked (value: unknown): unknown {
  return value === null || value === undefined || typeof value === 'boolean' ? value ?? null : MASKED
}

export function isPlain (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null &&
    [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null)
}
