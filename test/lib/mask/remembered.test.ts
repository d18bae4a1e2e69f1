import t from 'tap'
import { remembered, rememberedHeader, rememberedProse } from '../../../lib/mask/remembered.js'

t.test('a text is masked once', async t => {
  const seen: string[] = []
  const mask = remembered((text) => { seen.push(text); return text.toUpperCase() })
  t.equal(mask('a line'), 'A LINE')
  t.equal(mask('a line'), 'A LINE')
  t.same(seen, ['a line'])
})

t.test('one that is too long to come back is masked each time', async t => {
  let times = 0
  const mask = remembered((text) => { times++; return text })
  for (let i = 0; i < 3; i++) t.equal(mask('x'.repeat(301)).length, 301)
  t.equal(times, 3)
})

t.test('a thousand are remembered, whatever is sent', async t => {
  let times = 0
  const mask = remembered((text) => { times++; return text })
  for (let i = 0; i < 1_001; i++) mask(`line ${i}`)
  mask('line 0')
  t.equal(times, 1_002, 'the first one was forgotten')
  mask('line 1000')
  t.equal(times, 1_002, 'the last one was not')
})

t.test('a header is remembered by its name and its value', async t => {
  let times = 0
  const mask = rememberedHeader((name, value) => { times++; return `${name}=${value}` })
  for (const [name, value] of [['a', '1'], ['b', '1'], ['a', '2'], ['a', '1'], ['b', '1']] as const) t.equal(mask(name, value), `${name}=${value}`)
  t.equal(times, 3)
  for (let i = 0; i < 2; i++) mask('n'.repeat(101), '1')
  t.equal(times, 5, 'a name that is too long is not')
  for (let i = 0; i < 100; i++) mask(`x-${i}`, '1')
  mask('a', '1')
  t.equal(times, 106, 'nor are more than a hundred names')
})

t.test('prose that is long is remembered, too, but not all of it', async t => {
  let times = 0
  const mask = rememberedProse((text) => { times++; return `${text}!` })
  for (const [length, expected] of [[300, 1], [301, 1], [16_000, 1], [16_001, 3]] as const) {
    times = 0
    for (let i = 0; i < 3; i++) t.equal(mask('x'.repeat(length)), `${'x'.repeat(length)}!`)
    t.equal(times, expected, `${length} characters`)
  }
  times = 0
  for (let i = 0; i < 60; i++) mask(`${i} ${'y'.repeat(400)}`)
  mask(`0 ${'y'.repeat(400)}`)
  t.equal(times, 61, 'the first of many was forgotten')
})

t.test('a policy is remembered without its nonces, and shown with them', async t => {
  let times = 0
  const mask = rememberedHeader((_name, value) => { times++; return value.replace('secret', '***') })
  const policy = (script: string, style: string): string => `script-src 'nonce-${script}' secret; style-src 'nonce-${style}'`
  for (const [script, style] of [['a+/=', 'b'], ['c', 'd'], ['e', 'e']] as const) t.equal(mask('content-security-policy', policy(script, style)), policy(script, style).replace('secret', '***'))
  t.equal(times, 1)
  t.equal(mask('content-security-policy-report-only', policy('', 'x')), policy('', 'x').replace('secret', '***'), 'one that is empty')
})
