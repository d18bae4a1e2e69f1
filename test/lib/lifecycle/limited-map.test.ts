import t from 'tap'
import { LimitedMap } from '../../../lib/lifecycle/limited-map.js'

t.test('the newest are kept, by number and by characters', async (t) => {
  const map = new LimitedMap<number>(2, 10)
  map.set('a', 1)
  map.set('b', 2)
  map.set('b', 3)
  t.same([map.get('a'), map.get('b')], [1, 3])
  map.set('c', 4)
  t.same([map.get('a'), map.get('b'), map.get('c')], [undefined, 3, 4], 'two at most')
  map.set('123456789', 5)
  t.same([map.get('b'), map.get('c'), map.get('123456789')], [undefined, 4, 5], 'ten characters at most')
  map.set('x'.repeat(11), 6)
  t.same([map.get('c'), map.get('x'.repeat(11))], [4, undefined], 'what is too long alone drops nothing')
})
