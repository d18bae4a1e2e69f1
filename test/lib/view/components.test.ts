import { resolve } from 'node:path'
import t from 'tap'
import { withPlaces } from '../../../lib/view/components.js'

t.test('withPlaces links places from the beginning of their paths', async (t) => {
  const link = (file: string, line: number) => `editor:${file}:${line}`
  const of = (place: string) => `<a href="editor:${resolve(place)}" title="${resolve(place)}"><code>${place}</code></a>`
  for (const [sentence, shown] of [
    ['from src/cart.js:20, 4 ms', `from ${of('src/cart.js:20')}, 4 ms`],
    ['(at /srv/a-b/c.d.mts:7)', `(at ${of('/srv/a-b/c.d.mts:7')})`],
    ['./src/cart.js:20', of('src/cart.js:20')],
    ['http://stock/items/:id', 'http://stock/items/:id'],
    ['src/cart.js:20px, cart.json:2, <b>', 'src/cart.js:20px, cart.json:2, &#60;b&#62;']
  ] as const) t.equal(withPlaces(sentence, link), shown, sentence)
})
