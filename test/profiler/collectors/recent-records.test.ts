import t from 'tap'
import { sharedText } from '../../../plugins/kernel/shared-part.js'
import { RecentRecords } from '../../../plugins/profiler/collectors/recent-records.js'

t.test('from the second time on the same facts have one shared record', async t => {
  const recent = new RecentRecords()
  let made = 0
  const record = (facts: unknown[] | null): object => recent.of(facts, () => ({ made: ++made }))
  const [first, second, third] = [record([200, 'a']), record([200, 'a']), record([200, 'a'])]
  t.same([first, second, third], [{ made: 1 }, { made: 2 }, { made: 2 }])
  t.equal(third, second)
  t.equal(sharedText(first), undefined, 'most of what comes once never comes again')
  t.equal(sharedText(second), '{"made":2}')
  for (const other of [[200, 'b'], [200], [200, 'a', 1], ['200', 'a']]) t.same(record(other), { made }, 'other facts, or more or fewer of them')
})

t.test('without facts it is always made', async t => {
  const recent = new RecentRecords()
  const records = [1, 2, 3].map((n) => recent.of(null, () => ({ n })))
  t.same(records, [{ n: 1 }, { n: 2 }, { n: 3 }])
  t.ok(records.every((record) => sharedText(record) === undefined))
})

t.test('what has not come for long is forgotten', async t => {
  const recent = new RecentRecords()
  const make = (): object => ({})
  recent.of(['old'], make)
  const old = recent.of(['old'], make)
  for (let i = 0; i < 100; i++) recent.of([i], make)
  t.not(recent.of(['old'], make), old)
})
