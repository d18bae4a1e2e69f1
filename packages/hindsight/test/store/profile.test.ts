import t from 'tap'
import { newToken, TOKEN_PATTERN } from '../../src/store/profile.js'

t.test('a token has six lower-case hexadecimal digits', async (t) => {
  for (const [text, expected] of [
    ['3fa94c', true], ['000000', true], ['3FA94C', false], ['3fa94', false], ['3fa94c0', false], ['3fa94g', false], ['3fa94c\n', false], ['', false]
  ] as const) t.equal(TOKEN_PATTERN.test(text), expected, JSON.stringify(text))
})

t.test('new tokens are random, with every digit at every place', async (t) => {
  const drawn = Array.from({ length: 2_000 }, newToken)
  t.same(drawn.filter((token) => !TOKEN_PATTERN.test(token)), [])
  // Of 16,777,216 some are expected to be drawn twice, but not many.
  t.ok(new Set(drawn).size > 1_990)
  for (let place = 0; place < 6; place++) t.equal(new Set(drawn.map((token) => token[place])).size, 16)
})
