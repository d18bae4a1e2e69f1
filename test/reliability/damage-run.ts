import { parseArgs } from 'node:util'
import { damageStores } from './damage.js'

// `npx tsx test/reliability/damage-run.ts --rounds 100 --seed 7`
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '100' }, seed: { type: 'string', default: String(Date.now() & 0x7fffffff) } } })
console.log(`${values.rounds} rounds, seed ${values.seed}`)
const figures = await damageStores(Number(values.rounds), Number(values.seed), (line) => console.log(line))
console.table(Object.fromEntries(Object.entries(figures).map(([name, { errors, ...counts }]) => [name, { ...counts, errors: errors.length }])))
for (const { errors } of Object.values(figures)) for (const error of errors) console.log(error)
