import t from 'tap'
import { safeJson } from '../../src/view/text.js'

t.test('safeJson serializes any value', async (t) => {
  const circle: Record<string, unknown> = {}
  circle.self = circle
  const cases: Array<[value: unknown, expected: RegExp | string]> = [
    [{ a: [1] }, '{"a":[1]}'],
    [{ big: 10n }, '{"big":"10n"}'],
    [{ error: new TypeError('x') }, '{"error":{"name":"TypeError","message":"x"}}'],
    [{ map: new Map([[1, 2]]) }, '{"map":[[1,2]]}'],
    [undefined, 'undefined'],
    [circle, /Circular/],
    [{ toJSON () { throw new Error('no') } }, /toJSON/]
  ]
  for (const [value, expected] of cases) t.match(safeJson(value), expected)
})
