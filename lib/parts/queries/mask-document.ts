import { NAME_FIELD, VALUE_FIELD } from '../../mask/names.js'
import { MASKED, type Mask } from '../../mask/mask.js'

const MAX_DEPTH = 12
/** Operators of MongoDB and stages of a pipeline with parts that have nothing to do with each other. */
const SEPARATE = new RegExp('^\\$(?:and|or|nor|not|expr|match|project|addFields|set|unset|group|facet|lookup|sort|' +
  'setOnInsert|push|addToSet|pull|inc|each|elemMatch|merge|unionWith|replaceWith|replaceRoot|sortByCount|unwind)$')
/** Operators with code or with the name of a field that is no reference. */
const HAS_NAMES = /^\$(?:where|function|accumulator|getField|setField|unsetField|arrayToObject|let|map|filter|reduce)$/
/** Fields with the path of a field, of Prisma and of searches in MongoDB: `{ path: ['password'], equals: '…' }`. */
const PATH = /^(?:path|fields?|defaultPath)$/i

/**
 * A copy of a document of MongoDB or of an ORM without values that are compared with a secret field:
 * `{ $eq: ['$pin', 1] }`, and without those of a field whose name is elsewhere: `[{ key: 'pin' }, { value: 1 }]`.
 */
export function withoutComparands (mask: Mask, root: unknown): unknown {
  const isNamed = some(root, (item, name) => NAME_FIELD.test(name) && typeof item === 'string' && mask.hides(item))
  // `{ update: 'set password = :p', values: { ':p': '…' } }`
  const isExpressed = some(root, (_, name) => name.startsWith(':')) && some(root, isName)
  /** Fields and variables that have the value of a secret field. */
  const aliases = new Set<string>()
  some(root, (item, name) => {
    const [operator = '', ...others] = isPlain(item) ? Object.keys(item) : []
    const isExpression = operator.startsWith('$') && others.length === 0 && !SEPARATE.test(operator)
    if (!name.startsWith('$') && (typeof item === 'string' || isExpression) && refersToSecret(item)) aliases.add(name)
    // Variables that are compared with a secret field: `{ $eq: ['$pin', '$$given'] }`.
    const compared = isExpression && refersToSecret(item) ? Object.values(item as object).flat() : []
    for (const value of compared) if (typeof value === 'string' && value.startsWith('$$')) aliases.add(value.slice(2))
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
      if (isHidden && name === '$literal') return [name, MASKED]
      const isOperand = name.startsWith('$') && !SEPARATE.test(name) && refersToSecret(item, HAS_NAMES.test(name))
      const isValue = (hasPath && !PATH.test(name)) || (isExpressed && name.startsWith(':')) ||
        (isNamed && VALUE_FIELD.test(name) && !isPlain(item))
      return [name, copy(item, depth + 1, isHidden || isOperand || isValue || aliases.has(name))]
    }))
  }

  function refersToSecret (operand: unknown, hasNames = false): boolean {
    return some(operand, (item, name) => typeof item === 'string'
      ? (hasNames || HAS_NAMES.test(name) || item.startsWith('$')) &&
        (isName(item) || aliases.has(item.replace(/^\$\$?/, '')))
      : !hasNames && HAS_NAMES.test(name) && refersToSecret(item, true))
  }

  function isName (value: unknown): boolean {
    return typeof value === 'string' && mask.mentions(value)
  }
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
