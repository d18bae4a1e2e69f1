import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { formatTime, withPlaces } from '../../src/view/components.js'

t.test('withPlaces links places from the beginning of their paths', async (t) => {
  const link = (file: string, line: number) => `editor:${file}:${line}`
  const of = (place: string) => `<a href="editor:${resolve(place)}" title="${resolve(place)}"><code>${place}</code></a>`
  for (const [sentence, shown] of [
    ['from src/cart.js:20, 4 ms', `from ${of('src/cart.js:20')}, 4&#160;ms`],
    ['(at /srv/a-b/c.d.mts:7)', `(at ${of('/srv/a-b/c.d.mts:7')})`],
    ['./src/cart.js:20', of('src/cart.js:20')],
    ['http://stock/items/:id', 'http://stock/items/:id'],
    ['http://stock:3000//srv/a.js:10', 'http://stock:3000//srv/a.js:10'],
    ['src/cart.js:20px, cart.json:2, <b>', 'src/cart.js:20px, cart.json:2, &#60;b&#62;']
  ] as const) t.equal(String(withPlaces(sentence, link)), shown, sentence)
})

t.test('a duration has the unit of its length, on pages and in the toolbar', async (t) => {
  const script = readFileSync('packages/hindsight/src/reading/pages/toolbar/script.js', 'utf8')
  const source = /function milliseconds \(value\) {\n[^]*?\n {2}}\n/.exec(script)?.[0] ?? ''
  const ofToolbar = runInNewContext(`(${source})`) as (value: number) => string
  for (const [value, shown] of [
    [0, '< 1 µs'], [0.25, '250 µs'], [1.256, '1.26 ms'], [12.34, '12.3 ms'], [999.4, '999 ms'], [999.6, '1 s'], [1_220, '1.22 s'], [9_999, '10 s'],
    [10_000, '10 s'], [12_345, '12.3 s'], [119_999, '120 s'], [120_000, '2 min 0 s'], [318_501, '5 min 19 s'], [7_199_600, '120 min 0 s'],
    [NaN, '–'], ['5', '–'], [null, '–']
  ] as const) {
    t.equal(formatTime(value), shown)
    if (Number.isFinite(value)) t.equal(ofToolbar(Number(value)), shown)
  }
})
