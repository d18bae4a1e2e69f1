import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { comparisonLines } from '../../../src/cli/commands/compare.js'
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

inBothProducts('calls and queries that have changed are paired, and what follows from a failure is no difference', async (t, build) => {
  const rates = createServer((request, response) => {
    response.statusCode = request.url === '/rates/usd' ? 404 : 200
    response.end('{}')
  }).listen(0)
  t.teardown(() => { rates.close() })
  await once(rates, 'listening')
  const bank = `http://127.0.0.1:${(rates.address() as AddressInfo).port}`
  const app = await build((app) => app.get<{ Querystring: { to: string } }>('/convert', async ({ query: { to } }) => {
    recordQuery({ system: 'sqlite', statement: `select * from cart_${to}`, parameters: [] })({ rows: 1 })
    const response = await fetch(`${bank}/rates/${to}`)
    if (!response.ok) throw new Error('no rate')
    recordQuery({ system: 'sqlite', statement: 'select 1', parameters: [] })({ rows: 1 })
    await fetch(`${bank}/sales`)
    return { to }
  }))
  const address = await app.listen({ port: 0 })
  const tokens = []
  for (const to of ['USD', 'usd']) tokens.push(String((await fetch(`${address}/convert?to=${to}`)).headers.get('x-debug-token')))
  const profiles = await Promise.all(tokens.map((token) => profileOf(app, { headers: { 'x-debug-token': token } }))) as unknown as [Profile, Profile]
  const comparison = compareProfiles(...profiles)
  const place = /from \S*times\.test\.ts:\d+$/
  const shown = comparison.sections.filter(({ name }) => name !== 'times').flatMap(({ differences }) => differences)
  t.match(shown, [
    { what: 'status', a: 200, b: 500 }, { what: 'Error' }, { what: 'query to', a: 'USD', b: 'usd' },
    { what: /^query from/, a: '`select * from cart_USD` 1 time', b: '`select * from cart_usd` 1 time' },
    { what: /^outgoing call from/, a: `GET ${bank}/rates/USD: 200`, b: `GET ${bank}/rates/usd: 404` }
  ])
  t.equal(shown.length, 5)
  for (const { what } of shown.slice(3)) t.match(what, place)
  const path = `${address}/_profiler/${tokens.join('/compare/')}`
  const json = await (await fetch(`${path}.json`)).json() as typeof comparison
  t.equal(json.differences, comparison.differences)
  const count = `${comparison.differences} differences`
  t.match(await (await fetch(path, { headers: { accept: 'text/html' } })).text(), count)
  const lines = comparisonLines(comparison, { columns: 200, style: (_, text) => text })
  t.ok(lines.includes(`${count}.`))
  for (const { what } of shown) t.ok(lines.some((line) => line.startsWith('  ') && line.endsWith(`: ${what}`)), what)
})

inBothProducts('the latest failure is one of the application, and not a path that a robot requests', async (t, build) => {
  const app = await build((app) => app.get('/broken', async () => { throw new Error('no stock') }))
  const address = await app.listen({ port: 0 })
  const tokens = []
  for (const path of ['/broken', '/wp-login.php', '/.env']) {
    const token = String((await fetch(address + path)).headers.get('x-debug-token'))
    await profileOf(app, { headers: { 'x-debug-token': token } })
    tokens.push(token)
  }
  const latest = await fetch(`${address}/_profiler/latest?error=1`, { redirect: 'manual' })
  t.match(latest.headers.get('location'), tokens[0])
})
