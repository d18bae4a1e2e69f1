import { parseArgs } from 'node:util'
import { damageStores } from './damage.js'

// `npx tsx test/slow/reliability/damage-run.ts --rounds 100 --seed 7`
const { values: { rounds, seed } } = parseArgs({
  options: {
    rounds: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(Date.now() & 0x7fffffff) }
  }
})
console.log(`${rounds} rounds, seed ${seed}`)
const figures = await damageStores(Number(rounds), Number(seed), (line) => console.log(line))
const rows = Object.entries(figures).map(([name, { errors, ...counts }]) => {
  return [name, { ...counts, errors: errors.length }]
})
console.table(Object.fromEntries(rows))
for (const [name, { errors }] of Object.entries(figures)) for (const error of errors) console.log(`${name}: ${error}`)
