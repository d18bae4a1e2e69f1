import { attemptCall } from '../../call.js'
import { isObject, listOf, type Data } from '../read.js'
import { JSON_TYPES, type ValueChange, type Side } from './changes.js'

/** A schema and its address, such as `body/properties/qty`; `root` is what its local references refer to. */
interface Place { schema: Data, at: string, root: Data, base: string }

/** Why a value was changed: a keyword of a schema, and its address. */
export interface Rule { rule: string, schema?: string }

/** Schemas in schemas. */
const MAX_NESTED = 8

/** Finds the rules by which a schema changes values. `shared`: the schemas of the application by their `$id`. */
export function rulesOf (schema: unknown, name: string, shared: Data): (change: ValueChange) => Rule | undefined {
  const isResponse = name.startsWith('response/')
  const root = { schema: schema as Data, at: name, root: schema as Data, base: name }

  return ({ kind, path, from, to }) => {
    let [parents, places]: [Place[], Place[]] = [[], applicable(root, shared)]
    for (const name of path) [parents, places] = [places, places.flatMap((place) => below(place, name, shared))]
    if (kind === 'added') return ruleAt(places.find(({ schema }) => 'default' in schema), 'default')
    const other = isResponse ? otherRule(kind, from, to) : undefined
    const fixed = places.find(({ schema }) => 'const' in schema && schema.const === to.copy)
    if (kind === 'changed') return typeRule(places, from, to) ?? ruleAt(fixed, 'const') ?? other
    if (other !== undefined) return other
    if (!isResponse) {
      const closed = parents.find(({ schema }) => schema.additionalProperties === false)
      return ruleAt(closed, 'additionalProperties', 'additionalProperties: false')
    }
    const closed = parents.find(({ schema }) => drops(schema, String(path.at(-1))))
    return ruleAt(closed, 'properties', `not in the schema of ${name.split('/', 2).join(' ')}`)
  }
}

function ruleAt (place: Place | undefined, keyword: string, rule = keyword): Rule | undefined {
  return place && { rule, schema: `${place.at}/${keyword}` }
}

/** The `type` that a value has only afterwards. */
function typeRule (places: readonly Place[], from: Side, to: Side): Rule | undefined {
  const typesOf = (place?: Place): unknown[] =>
    [place?.schema.type, place?.schema.nullable === true ? 'null' : []].flat(2)
  const has = (place: Place, side: Side): boolean => typesOf(place).some((one) =>
    one === side.type || (one === 'number' && side.type === 'integer'))
  const place = places.find((place) => has(place, to) && !has(place, from))
  return ruleAt(place, 'type', `type: ${typesOf(place).join(' | ')}`)
}

function otherRule (kind: ValueChange['kind'], { type }: Side, to: Side): Rule | undefined {
  if (JSON_TYPES.has(type)) return undefined
  const hasNoMethod = /^(?:NaN|-?Infinity|undefined|function|symbol)$/.test(type)
  const isLost = kind === 'removed' || to.type === 'object' || hasNoMethod
  return { rule: isLost ? `JSON has no ${type}` : 'toJSON' }
}

/** Whether serialization leaves out a field. */
function drops ({ properties, patternProperties, additionalProperties, type }: Data, field: string): boolean {
  if (isObject(properties) && Object.hasOwn(properties, field)) return false
  const isOfObjects = isObject(properties) || [type].flat().includes('object')
  return isOfObjects && patternOf(patternProperties, field) === undefined && (additionalProperties ?? false) === false
}

/** The pattern that the name of a field has. */
function patternOf (patterns: unknown, field: string): string | undefined {
  return Object.keys(Object(patterns) as object).find((pattern) =>
    attemptCall(() => new RegExp(pattern, 'u').test(field), () => false))
}

/** The schemas of a field or an item. */
function below (place: Place, name: string | number, shared: Data): Place[] {
  const { properties, patternProperties, additionalProperties, items } = place.schema
  const nested = (schema: unknown, key: string): Place[] =>
    applicable({ ...place, schema: schema as Data, at: `${place.at}/${key}` }, shared)
  if (typeof name === 'number') {
    return Array.isArray(items) ? nested(items[name], `items/${name}`) : nested(items, 'items')
  }
  // Fastify compares the names of headers in lower case.
  const key = Object.keys(Object(properties) as object).find((key) =>
    key === name || (place.base === 'headers' && key.toLowerCase() === name))
  if (key !== undefined) return nested((properties as Data)[key], `properties/${key}`)
  const pattern = patternOf(patternProperties, name)
  if (pattern === undefined) return nested(additionalProperties, 'additionalProperties')
  return nested((patternProperties as Data)[pattern], `patternProperties/${pattern}`)
}

/** A schema, and those that it combines or refers to. */
function applicable (place: Place, shared: Data, depth = 0): Place[] {
  const { schema, at } = place
  if (!isObject(schema) || depth > MAX_NESTED) return []
  const nested = ['allOf', 'anyOf', 'oneOf'].flatMap((key) =>
    listOf(schema[key]).map((each, i) => ({ ...place, schema: each, at: `${at}/${key}/${i}` })))
  const branches = ['then', 'else'].map((key) => ({ ...place, schema: schema[key] as Data, at: `${at}/${key}` }))
  if (typeof schema.$ref === 'string') branches.push(referredBy(schema.$ref, place, shared))
  return [place, ...[...nested, ...branches].flatMap((each) => applicable(each, shared, depth + 1))]
}

function referredBy ($ref: string, place: Place, shared: Data): Place {
  const [id = '', pointer = ''] = $ref.split('#', 2)
  const [root, base] = id === '' ? [place.root, place.base] : [shared[id] as Data, `${id}#`]
  const schema = pointer.split('/').slice(1).reduce<unknown>((value, key) =>
    isObject(value) ? value[key.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined, root) as Data
  return { schema, at: base + pointer, root, base }
}
