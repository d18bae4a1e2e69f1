import t from 'tap'
import { setImmediate as turn } from 'node:timers/promises'
import { TokenSource, TOKEN_PATTERN } from '../../plugins/profiler/token.js'

t.test('a token is six lower-case hexadecimal digits', async t => {
  for (const [text, expected] of [
    ['3fa94c', true], ['000000', true], ['3FA94C', false], ['3fa94', false], ['3fa94c0', false], ['3fa94g', false], ['3fa94c\n', false], ['', false]
  ] as const) t.equal(TOKEN_PATTERN.test(text), expected, JSON.stringify(text))
})

t.test('tokens are drawn at once, and none twice', async t => {
  const source = new TokenSource(() => false)
  const drawn = Array.from({ length: 2_000 }, () => source.take())
  t.ok(drawn.every(token => TOKEN_PATTERN.test(token)))
  t.equal(new Set(drawn).size, 2_000)
})

t.test('a token that is taken is drawn again', async t => {
  const asked: string[] = []
  const token = new TokenSource(candidate => asked.push(candidate) < 4).take()
  t.equal(asked.length, 4)
  t.equal(token, asked.at(-1))
})

t.test('a store that answers later is asked ahead, and what it has is not given', async t => {
  const free = new Set<string>()
  const source = new TokenSource(async candidate => {
    await turn()
    if (Number(`0x${candidate}`) % 2 === 0) return true
    free.add(candidate)
    return false
  })
  t.match(source.take(), TOKEN_PATTERN, 'the first is given unseen')
  t.match(source.take(), TOKEN_PATTERN)
  for (let i = 0; i < 5; i++) await turn()
  for (let round = 0; round < 5; round++) {
    const token = source.take()
    t.ok(free.has(token), 'the store said that it is free')
    for (let i = 0; i < 5; i++) await turn()
  }
})

t.test('what was free a while ago may be somebody else\'s by now', async t => {
  let now = 0
  const asked = new Set<string>()
  const taken = new Set<string>()
  const source = new TokenSource(token => { asked.add(token); return taken.has(token) }, () => now)
  for (let i = 0; i < 20; i++) taken.add(source.take())
  t.ok(asked.size > taken.size, 'more were asked for than were given')
  for (const token of asked) taken.add(token)
  now += 2_000
  for (let i = 0; i < 40; i++) t.notOk(taken.has(source.take()), 'another process has given what was left')
})

t.test('a burst is served from beyond the pool', async t => {
  const source = new TokenSource(async () => false)
  const first = source.take()
  const drawn = Array.from({ length: 500 }, () => source.take())
  t.equal(new Set([first, ...drawn]).size, 501)
})

t.test('a store that calls everything taken does not hold a request up for ever', async t => {
  let asked = 0
  t.match(new TokenSource(() => { asked++; return true }).take(), TOKEN_PATTERN)
  t.equal(asked, 64)
})
