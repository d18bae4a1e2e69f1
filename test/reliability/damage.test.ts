import t from 'tap'
import { DAMAGES, damageStores } from './damage.js'

// The long run: `npx tsx test/reliability/damage-run.ts --rounds 100 --seed 7`.
t.test('a store that was cut or changed by chance ends no process, raises nothing, and keeps what is put behind the damage', async (t) => {
  const told: string[] = []
  const figures = await damageStores(3, 11, (line) => told.push(line))
  t.same(told, [])
  for (const name of Object.keys(DAMAGES)) {
    t.match(figures[name], { stores: 3, crashed: 0, lossy: 0, errors: [] }, name)
    t.ok((figures[name]?.leastRead ?? 0) > 1_000, `${name}: what is not damaged is read`)
  }
  t.equal(figures['a page of zeros']?.wrong, 0)
})
