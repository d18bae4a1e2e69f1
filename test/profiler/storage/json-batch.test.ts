import t from 'tap'
import { JsonBatch, type Encoded } from '../../../plugins/profiler/storage/redis/json-batch.js'
import { fromLine } from '../../../plugins/profiler/storage/summary-block.js'
import type { Profile } from '../../../plugins/profiler/profile.js'
import { failure, profile, tokens } from '../fixture.js'

t.test('profiles are made JSON as they come, and kept in their order', async (t) => {
  let kept: readonly Encoded[] = []
  const batch = new JsonBatch(async (profiles) => { kept = profiles })
  const changed = profile('000001')
  batch.add(changed)
  changed.status = 404
  batch.add(failure('000002', { url: `http://h/${'x'.repeat(100_000)}` }))
  t.equal(batch.get('000001')?.status, profile('000001').status, 'what is done to it afterwards is not seen')
  t.equal(batch.get('000003'), undefined)
  t.same(kept, [])
  await batch.write()
  t.same(kept.map(({ token, lane, row }) => [token, lane, fromLine(row).summary.token]), [['000001', 's', '000001'], ['000002', 'f', '000002']])
  t.same(JSON.parse(String(kept[0]?.body).slice(1)), profile('000001'))
  t.ok((kept[1]?.body.length ?? Infinity) < 10_000, 'a long one is compressed')
})

t.test('one that cannot be made JSON is refused, and the others are kept', async (t) => {
  let kept: readonly Encoded[] = []
  const batch = new JsonBatch(async (profiles) => { kept = profiles })
  batch.add(profile('000001'))
  t.throws(() => batch.add(profile('000002', { collectors: { a: { get b () { throw new Error('no') } } } } as Partial<Profile>)), { message: 'no' })
  batch.add(profile('000003'))
  await batch.write()
  t.same(kept.map(({ token }) => token), ['000001', '000003'])
})

t.test('it is full with many profiles, or with much in them', async (t) => {
  const many = new JsonBatch(async () => {})
  for (const token of tokens(1, 255)) many.add(profile(token))
  t.equal(many.isFull, false)
  many.add(profile('000fff'))
  t.equal(many.isFull, true)
  const large = new JsonBatch(async () => {})
  for (const token of tokens(1, 5)) {
    t.equal(large.isFull, false)
    large.add(profile(token, { url: 'x'.repeat(900_000) }))
  }
  t.equal(large.isFull, true)
})
