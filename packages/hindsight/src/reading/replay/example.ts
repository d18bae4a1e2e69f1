import { isObject, type Data } from '../../view/text.js'

const MAX_DEPTH = 8
const TEXTS: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  email: 'ada@example.com',
  time: '12:00:00Z',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000'
}

/**
 * An example of what a JSON Schema describes: its own examples and defaults, otherwise the least value of each type.
 * `schemas` are those that the application shares, by their `$id`. A pattern is not followed.
 */
export function exampleOf (schema: unknown, schemas: Data = {}, depth = 0): unknown {
  if (!isObject(schema) || depth > MAX_DEPTH) return null
  const example = (inner: unknown): unknown => exampleOf(inner, schemas, depth + 1)
  const { $ref, type, properties, items, format = '', minimum, exclusiveMinimum, minLength = 1 } = schema
  const known = [schema.const, schema.default, [schema.examples].flat()[0], [schema.enum].flat()[0]]
    .find((value) => value !== undefined)
  if (known !== undefined) return known
  if (typeof $ref === 'string') return example(schemas[$ref.replace(/#$/, '')])
  const variants = [schema.allOf, schema.anyOf, schema.oneOf].find(Array.isArray)
  if (variants !== undefined) {
    const examples = variants.map(example)
    return schema.allOf === variants && examples.every(isObject) ? Object.assign({}, ...examples) as Data : examples[0]
  }
  switch ([type ?? (isObject(properties) ? 'object' : undefined)].flat()[0]) {
    case 'object': return Object.fromEntries(Object.entries(Object(properties) as Data)
      .map(([name, inner]) => [name, example(inner)]))
    case 'array': return items === undefined ? [] : [example(items)]
    case 'string': return TEXTS[String(format)] ?? 'text'.repeat(Number(minLength)).slice(0, Number(minLength))
    case 'integer': case 'number': return Number(minimum ?? Number(exclusiveMinimum ?? -1) + 1)
    case 'boolean': return false
    default: return null
  }
}
