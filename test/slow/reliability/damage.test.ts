import t from 'tap'
import { CHECKPOINTED, DAMAGES, damageStores, SITUATIONS } from './damage.js'
import { STORED } from './damaged.js'

// The long run: `npx tsx test/slow/reliability/damage-run.ts --rounds 100 --seed 7`.
t.test('a damaged store ends no process, raises no error, and keeps later profiles', async (t) => {
  const crashes: string[] = []
  const figures = await damageStores(1, 11, (line) => crashes.push(line))
  t.same(crashes, [])
  for (const [situation, { suffix }] of Object.entries(SITUATIONS)) {
    for (const kind of Object.keys(DAMAGES)) {
      const name = `${situation}: ${kind}`
      t.match(figures[name], { stores: 1, crashed: 0, lost: 0 }, name)
      t.same(figures[name]?.errors, [], name)
      // SQLite finds nothing below a page that is a valid one of another part of the tree.
      if (kind === 'two pages swapped') continue
      // Of a WAL, everything after the first damage is ignored.
      const whole = suffix === '-wal' ? CHECKPOINTED : STORED
      t.ok((figures[name]?.leastRead ?? 0) > whole * 0.9, `${name}: undamaged profiles are read`)
    }
    t.equal(figures[`${situation}: a page of zeros`]?.wrong, 0, `${situation}: no zeros are returned`)
  }
  const found = Object.values(figures).filter(({ setAside }) => setAside > 0)
  t.ok(found.length > 10, `${found.length} damaged stores were set aside`)
})
