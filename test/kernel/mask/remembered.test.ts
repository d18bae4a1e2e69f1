import t from 'tap'
import { remembered, rememberedHeader } from '../../../plugins/kernel/mask/remembered.js'

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
