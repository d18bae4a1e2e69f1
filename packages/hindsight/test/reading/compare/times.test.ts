import { recordQuery } from '../../../src/queries/observe.js'
import { compareProfiles } from '../../../src/reading/compare/compare.js'
import type { Profile } from '../../../src/store/profile.js'
import { profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'

inBothProducts('the counts of queries and calls of two requests are compared with the times', async (t, build) => {
  const app = await build((app) => app.get<{ Querystring: { count: number } }>('/', async ({ query: { count } }) => {
    for (let i = 0; i < count; i++) recordQuery({ system: 'sqlite', statement: 'select name from item where id = ?', parameters: [i] })({ rows: 1 })
    return 'x'
  }))
  const [a, b] = [await app.inject('/?count=2'), await app.inject('/?count=7')]
  const profiles = await Promise.all([a, b].map((response) => profileOf(app, response))) as unknown as [Profile, Profile]
  const times = compareProfiles(...profiles).sections.find(({ name }) => name === 'times')
  const query = times?.differences.find(({ what }) => what.startsWith('sqlite: select name'))
  t.match(query, { kind: 'changed', a: /^2 ×, /, b: /^7 ×, / })
  const path = `/_profiler/${String(a.headers['x-debug-token'])}/compare/${String(b.headers['x-debug-token'])}`
  t.match((await app.inject(path)).body, /2 ×, [^]*7 ×, /)
})
