import t from 'tap'
import { counted, grouped, wordFor } from '../../../lib/view/counted.js'
import { build } from '../../support/app.js'

t.test('numbers are grouped, and words have their singular and plural', async (t) => {
  for (const [number, text] of [[0, '0 failures'], [1, '1 failure'], [2, '2 failures'], [1200, '1,200 failures']] as const) {
    t.equal(counted(number, 'failure'), text)
  }
  t.equal(counted(1, 'line is', 'lines are'), '1 line is')
  t.equal(counted(2, 'line is', 'lines are'), '2 lines are')
  for (const integer of [0, 999, 1_000, 12_345, 999_999, 1_000_000, -999, -1_000, 1_234_567_890]) t.equal(grouped(integer), integer.toLocaleString('en'))
  t.same([wordFor(1, 'call'), wordFor(0, 'call'), wordFor(2, 'is', 'are')], ['call', 'calls', 'are'])
})

t.test('the list of profiles counts its results', async (t) => {
  const app = await build({ declare: (app) => app.get('/', async () => { throw new Error('no') }) })
  t.teardown(() => app.close())
  const list = async (): Promise<string> => (await app.inject({ url: '/_profiler/', headers: { accept: 'text/html' } })).body
  t.match(await list(), ': 0 failures, 0 pinned.')
  await app.inject('/')
  t.match(await list(), /\b1 of at most [\d,]+ profiles, [^:]+: 1 failure, 0 pinned\./)
  await app.inject('/')
  t.match(await list(), ': 2 failures, 0 pinned.')
})
