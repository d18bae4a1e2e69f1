import t from 'tap'
import { SharedParts, share, shareAgain, sharedText } from '../../plugins/kernel/shared-part.js'

t.test('a part is frozen to its depths, and its JSON is known', async (t) => {
  const part = { a: [{ b: 1 }], c: null }
  t.equal(sharedText(part), undefined)
  t.equal(share(part), part)
  t.equal(sharedText(part), '{"a":[{"b":1}],"c":null}')
  t.throws(() => { part.a[0] = { b: 2 } })
  t.throws(() => { (part.a[0] as { b: number }).b = 2 })
  t.equal(share(part), part, 'and once more')
})

t.test('what comes a second time is shared', async (t) => {
  const part = { a: 1 }
  t.equal(shareAgain(part), part)
  t.equal(sharedText(part), undefined)
  t.equal(shareAgain(part), part)
  t.equal(sharedText(part), '{"a":1}')
})

t.test('what is asked for again is the same, as long as it is remembered', async (t) => {
  const parts = new SharedParts<{ n: number }>(2)
  let made = 0
  const of = (key: string): { n: number } => parts.of(key, () => ({ n: ++made }))
  t.equal(of('a'), of('a'))
  t.not(of('a'), of('b'))
  t.same([of('c').n, of('b').n, of('a').n], [3, 2, 4], 'the oldest was forgotten')
})
