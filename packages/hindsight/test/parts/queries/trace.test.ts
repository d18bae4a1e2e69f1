import t from 'tap'
import { copyOfParameters, identityOf } from '../../../src/parts/queries/trace.js'

t.test('a copy of parameters does not change with them', async t => {
  const id = Buffer.from('ab')
  const given = [1, 'a', { list: [1], none: null }, id]
  const copy = copyOfParameters(given)
  Object.assign(given[2] as object, { list: [], added: true })
  id[0] = 0
  t.same(copy, [1, 'a', { list: [1], none: null }, Buffer.from('ab')])
  class Id {
    toJSON (): string { return 'id' }
  }
  t.same(copyOfParameters([new Date(0), new Id(), new Proxy({}, {})]), ['1970-01-01T00:00:00.000Z', 'id', '[proxy]'])
  t.same(copyOfParameters({ name: /a/i, tags: new Set([1]), by: new Map([['a', /b/]]) }), { name: '/a/i', tags: [1], by: { a: '/b/' } })
  t.equal(copyOfParameters(undefined), undefined)
})

t.test('a copy is bounded', async t => {
  t.same(copyOfParameters([Buffer.alloc(65), new Uint16Array(100), 'x'.repeat(2_001)]),
    ['[binary, 65 bytes]', '[binary, 200 bytes]', `${'x'.repeat(2_000)}… (1 more characters)`])
  t.equal((copyOfParameters(Array(1_000).fill(1)) as unknown[])[200], '… (800 more items)')
  class Rows { rows = Array(1_000).fill(1) }
  t.equal((copyOfParameters(new Rows()) as Rows).rows[200], '… (800 more items)')
  const fields = copyOfParameters(Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`f${i}`, i]))) as Record<string, unknown>
  t.equal(fields['…'], '100 more fields')
  const rows = copyOfParameters(Array.from({ length: 200 }, () => Array(200).fill(1))) as unknown[][]
  t.ok(rows.flat().length < 2_300, String(rows.flat().length))
  const circular: unknown[] = []
  circular.push(circular)
  t.match(JSON.stringify(copyOfParameters(circular)), /\[too deep\]/)
})

t.test('equal values have one identity; what is left out is unknown', async t => {
  t.equal(identityOf(['a', [1, 2n]]), identityOf(['a', [1, 2n]]))
  t.not(identityOf(['a', [1]]), identityOf(['a', ['1']]))
  t.not(identityOf([Buffer.from('a')]), identityOf([Buffer.from('b')]))
  t.equal(identityOf(undefined), '')
  for (const value of [['x'.repeat(3_000)], Array(300).fill(1), [Buffer.alloc(100)], Object.fromEntries(Array.from({ length: 300 }, (_, i) => [i, i]))]) {
    t.equal(identityOf(copyOfParameters(value)), null)
  }
  const circular: unknown[] = []
  circular.push(circular)
  t.equal(identityOf(circular), null)
})
