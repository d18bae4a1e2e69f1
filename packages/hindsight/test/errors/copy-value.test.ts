import t from 'tap'
import { ValueCopier } from '../../src/errors/copy-value.js'

t.test('where other threads take the CPU time, the first values of a line are copied', (t) => {
  let now = 0
  const slow = new ValueCopier(5, () => {
    now += 10
    return now
  })
  for (let i = 0; i < 30; i++) t.same(slow.copy({ id: i, name: 'a' }), { id: i, name: 'a' })
  const idle = new ValueCopier(5, () => 0)
  for (const copier of [slow, idle]) for (let i = 0; i < 10; i++) copier.copy({ id: i, name: 'a' })
  t.equal(slow.isOver, true, 'after a hundred values')
  t.equal(idle.isOver, false)
  t.end()
})
