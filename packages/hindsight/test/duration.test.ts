import t from 'tap'
import { secondsOf } from '../src/duration.js'

t.test('durations are read as whole seconds', async (t) => {
  const cases: Array<[duration: unknown, expected: number | null]> = [
    [0, 0], [600, 600], ['1 hour', 3600], ['10 minutes', 600], ['2d', 172_800], ['1500ms', 1],
    [-1, null], [1.5, null], [NaN, null], [Infinity, null], [
      '-1 hour', null
    ], ['soon', null], ['', null], [null, null], [undefined, null], [true, null], [{}, null]
  ]
  for (const [duration, expected] of cases) t.equal(secondsOf(duration), expected, JSON.stringify(duration))
})
