import t from 'tap'
import { KeptMarkup, octetsOf, type Part } from '../../../lib/view/parts.js'

t.test('parts are sent as they would be joined', async (t) => {
  const kept = new KeptMarkup('kept ü→😀')
  const cases: Array<[name: string, parts: Part[]]> = [
    ['nothing', []],
    ['texts', ['a', 'ü', '', '→😀']],
    ['a kept one between texts', ['→', kept, 'b']],
    ['kept ones beside each other', [kept, kept]],
    ['an empty kept one', ['a', new KeptMarkup(''), 'b']],
    ['a long one', ['→'.repeat(100_000), kept, 'x'.repeat(200_000)]]
  ]
  for (const [name, parts] of cases) t.equal(octetsOf(parts).toString(), parts.join(''), name)
})

t.test('a kept one is encoded once, and what is sent is nobody else\'s', async (t) => {
  const kept = new KeptMarkup('kept')
  t.equal(kept.octets, kept.octets)
  octetsOf([kept]).fill(0)
  t.equal(octetsOf([kept]).toString(), 'kept')
})
