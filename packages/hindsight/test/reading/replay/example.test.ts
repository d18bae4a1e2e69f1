import { Ajv } from 'ajv'
import t from 'tap'
import { exampleOf } from '../../../src/reading/replay/example.js'

t.test('an example has the examples, defaults and least values of its schema', async t => {
  const schema = {
    type: 'object',
    properties: {
      title: { type: 'string', minLength: 6, maxLength: 6 },
      short: { type: 'string' },
      note: { type: ['string', 'null'], default: 'none' },
      count: { type: 'integer', exclusiveMinimum: 2 },
      price: { type: 'number', minimum: 0.5 },
      kind: { enum: ['a', 'b'] },
      version: { const: 2 },
      color: { type: 'string', examples: ['red'] },
      day: { type: 'string', format: 'date' },
      tags: { type: 'array', items: { type: 'string' }, minItems: 1 },
      any: { type: 'array' },
      done: { type: 'boolean' },
      owner: { $ref: 'user#' },
      both: { allOf: [{ type: 'object', properties: { a: { type: 'integer' } } }, { properties: { b: { type: 'boolean' } } }] },
      one: { oneOf: [{ type: 'integer' }, { type: 'string' }] },
      free: {}
    }
  }
  const user = { $id: 'user', type: 'object', properties: { name: { type: 'string' }, friend: { $ref: 'user#' } } }
  const example = exampleOf(schema, { user }) as Record<string, unknown>
  t.match(example, {
    title: 'textte',
    short: 't',
    note: 'none',
    count: 3,
    price: 0.5,
    kind: 'a',
    version: 2,
    color: 'red',
    day: '2026-01-31',
    tags: ['t'],
    any: [],
    done: false,
    owner: { name: 't', friend: { name: 't' } },
    both: { a: 0, b: false },
    one: 0,
    free: null
  })
  const ajv = new Ajv({ formats: { date: true } })
  t.ok(ajv.validate({ ...schema, properties: { ...schema.properties, owner: {} } }, example), ajv.errorsText())
})

t.test('what is no schema has no example', async t => {
  for (const schema of [undefined, null, true, 'x', [], () => {}]) t.equal(exampleOf(schema), null)
})
