import http from 'node:http'
import { hostname } from 'node:os'
import t from 'tap'
import { criteriaMatcher } from '../../../src/store/criteria.js'
import { readSearch } from '../../../src/store/search-query.js'
import type { Profile, ProfileSummary } from '../../../src/store/profile.js'
import { recordOf } from '../../../src/store/summary.js'
import { inBothProducts } from '../../support/products.js'
import { profile } from '../fixture.js'

t.test('a request is of a kind, by what its client says', async (t) => {
  const cases: Array<[headers: Record<string, string>, kind: string, injected?: boolean]> = [
    [{ 'sec-fetch-dest': 'document', accept: '*/*' }, 'document'],
    [{ 'sec-fetch-dest': 'iframe' }, 'document'],
    [{ 'sec-fetch-dest': 'empty', accept: 'text/html' }, 'fetch'],
    [{ 'sec-fetch-dest': 'script' }, 'asset'],
    [{ 'sec-fetch-dest': 'image' }, 'asset'],
    [{ accept: 'text/html,*/*;q=0.8' }, 'document'],
    [{ accept: 'text/css,*/*;q=0.1' }, 'asset'],
    [{ accept: 'image/avif,*/*' }, 'asset'],
    [{ accept: 'application/json' }, 'fetch'],
    [{}, 'fetch'],
    [{ 'sec-fetch-dest': 'document' }, 'injected', true]
  ]
  for (const [headers, kind, injected] of cases) {
    const record = recordOf(profile('000001', { collectors: { request: { headers, injected } } }))
    t.equal(record.summary.values?.kind, kind, JSON.stringify(headers))
    t.equal(criteriaMatcher(readSearch({ q: `kind:${kind}` }).criteria)(record), true)
    t.equal(criteriaMatcher(readSearch({ q: `-kind:${kind}` }).criteria)(record), false)
  }
  const message = 'Invalid "kind": "page" is not document, fetch, asset, injected, job, schedule, command or start.'
  t.throws(() => readSearch({ q: 'kind:page' }), { message })
})

inBothProducts('requests of the network and injected ones have a kind, a size and a machine, which are no text of exceptions', async (t, build) => {
  const app = await build((app) => { app.get('/', async () => 'five!') })
  const origin = await app.listen()
  await app.inject('/')
  await (await fetch(origin, { headers: { accept: 'text/html', 'sec-fetch-dest': 'document' } })).text()
  await (await fetch(origin)).text()
  const found = async (q: string): Promise<string> => {
    const { profiles } = (await app.inject(`/_profiler/search.json?${new URLSearchParams({ q, sort: 'time' })}`)).json()
    return (profiles as ProfileSummary[]).map(({ values: { kind, size } = {} }) => `${kind} ${size}`).join()
  }
  t.equal(await found(''), 'injected 5,document 5,fetch 5')
  t.equal(await found('kind:document'), 'document 5')
  t.equal(await found('-kind:fetch size:>4'), 'injected 5,document 5')
  t.equal(await found(`machine:${hostname()} -kind:injected`), 'document 5,fetch 5')
  t.equal(await found(`-machine:${hostname()}`), '')
  t.equal(await found('exception:document'), '')
})

inBothProducts('a request has the address of its server, whatever its host is', async (t, build) => {
  const app = await build((app) => { app.get('/', async () => 'x') })
  const { port } = new URL(await app.listen())
  const token = await new Promise<string>((resolve, reject) => {
    http.get({ port, headers: { host: 'localhost:1' } }, (response) => resolve(String(response.resume().headers['x-debug-token']))).on('error', reject)
  })
  const answer = (url: string) => app.inject({ url, headers: { accept: 'application/json' } })
  const stored = async (token: string) => (await answer(`/_profiler/${token}`)).json<Profile>()
  t.match(await stored(token), { url: 'http://localhost:1/', collectors: { request: { serverUrl: `http://localhost:${port}` } } })
  const injected = await stored(String((await answer('/')).headers['x-debug-token']))
  t.equal(Object(injected.collectors.request).serverUrl, undefined)
})
