import t from 'tap'
import { drawToken, TOKEN_PATTERN } from '../../plugins/profiler/token.js'

t.test('a token is six lower-case hexadecimal digits', async t => {
  for (const [text, expected] of [
    ['3fa94c', true], ['000000', true], ['3FA94C', false], ['3fa94', false], ['3fa94c0', false], ['3fa94g', false], ['3fa94c\n', false], ['', false]
  ] as const) t.equal(TOKEN_PATTERN.test(text), expected, JSON.stringify(text))
})

t.test('tokens are drawn at once where the store answers at once, and are not all the same', async t => {
  const drawn = Array.from({ length: 50 }, () => drawToken(() => false))
  t.ok(drawn.every(token => typeof token === 'string' && TOKEN_PATTERN.test(token)))
  t.ok(new Set(drawn).size > 40)
})

t.test('a token that is taken is drawn again', async t => {
  for (const promised of [false, true]) {
    const asked: string[] = []
    const token = await drawToken(candidate => {
      asked.push(candidate)
      const taken = asked.length < 4
      return promised ? Promise.resolve(taken) : taken
    })
    t.equal(asked.length, 4)
    t.equal(token, asked.at(-1))
  }
})

t.test('a store that calls everything taken does not hold a request up for ever', async t => {
  for (const taken of [true, Promise.resolve(true)]) {
    let asked = 0
    const token = await drawToken(() => { asked++; return taken })
    t.match(token, TOKEN_PATTERN)
    t.equal(asked, 64)
  }
})
