import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { HindsightOptions } from '../../../src/options.js'
import { recordQuery } from '../../../src/queries/observe.js'
import type { Profile } from '../../../src/store/profile.js'
import { listen, profileOf } from '../../support/app.js'
import { testdir } from '../../support/folder.js'
import { inBothProducts, type Build } from '../../support/products.js'
import { parseHtml } from '../../support/parse-html.js'

type Settings = Exclude<HindsightOptions['profiler'], string | false | undefined>

/** Two applications: the first one calls the second one. */
async function services (build: Build, settings: Settings = {}): Promise<{ shop: FastifyInstance, stock: FastifyInstance, origin: string }> {
  const stock = await build((app) => {
    app.get('/stock', async (request) => {
      recordQuery({ system: 'postgresql', statement: 'select left_over from stock', parameters: [] })({ rows: 1 })
      request.log.warn('nearly <sold> out')
      return { left: 2 }
    })
  }, { profiler: settings })
  const origin = `http://127.0.0.1:${await listen(stock)}`
  const shop = await build((app) => {
    app.get('/', async (request) => await (await fetch((request.query as { url?: string }).url ?? `${origin}/stock`)).text())
  }, { profiler: settings })
  return { shop, stock, origin }
}

const documentOf = (page: string): Document => parseHtml(page)

async function pageOf (app: FastifyInstance, token: string, query: string): Promise<string> {
  return (await app.inject({ url: `/_profiler/${token}?${query}`, headers: { accept: 'text/html' } })).body
}

inBothProducts('what a called server did is shown below the call, where its profile is requested', async (t, build) => {
  const { shop, stock, origin } = await services(build)
  const { token, collectors } = await profileOf(shop, await shop.inject('/'))
  const [call] = (collectors['http-client'] as { calls: Array<{ profile: string }> }).calls
  t.match(call?.profile, new RegExp(`^${origin}/_profiler/[0-9a-f]{6}$`))
  const panel = await pageOf(shop, token, 'panel=http-client')
  t.notMatch(panel, /select left_over/)
  const link = [...documentOf(panel).querySelectorAll('a')].find(({ textContent }) => textContent === 'What it did')
  t.equal(link?.getAttribute('href'), '?panel=timeline&called=1')
  const waterfall = documentOf(await pageOf(shop, token, 'panel=timeline&called=1')).querySelector('.waterfall')
  const parent = [...waterfall?.querySelectorAll('li') ?? []].findLast((item) => item.querySelector('.name')?.textContent.startsWith('GET /'))
  for (const text of ['handler', 'select left_over from stock', 'nearly <sold> out']) {
    t.match(parent?.querySelector('ol')?.textContent, text, 'nested below the call')
  }
  t.notMatch(await pageOf(shop, token, 'panel=timeline'), /select left_over/)
  await stock.close()
  t.match(await pageOf(shop, token, 'panel=timeline&called=1'), /The profile was not received[^]+<code>\w+/)
})

inBothProducts('a profile is requested of this machine and of hosts of the option only, and no redirect is followed', async (t, build) => {
  const requests: Array<[url: string | undefined, cookie: string | undefined]> = []
  let answer: (response: http.ServerResponse) => unknown = () => {}
  const server = http.createServer(({ url, headers }, response) => {
    if (url === '/stock') return response.setHeader('x-debug-token-link', String(headers['x-link'])).end('{}')
    requests.push([url, headers.cookie])
    return answer(response)
  })
  await listenOn(server)
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const called = async (host: string, calledHosts: string[]): Promise<{ profile: string | undefined, page: string }> => {
    const shop = await build((app) => {
      app.get('/', async () => await (await fetch(`http://127.0.0.1:${port}/stock`, {
        headers: { 'x-link': `http://user:secret@${host}:${port}/_profiler/abcdef` }
      })).text())
    }, { profiler: { calledHosts } })
    const { token, collectors } = await profileOf(shop, await shop.inject('/'))
    const [call] = (collectors['http-client'] as { calls: Array<{ profile?: string }> }).calls
    return { profile: call?.profile, page: await pageOf(shop, token, 'panel=timeline&called=1') }
  }
  for (const [host, hosts] of [['stock.invalid', []], ['stock.invalid', ['other.invalid']], ['a.stock.invalid', ['stock.invalid']]] as const) {
    t.equal((await called(host, [...hosts])).profile, undefined, host)
  }
  const { profile, page } = await called('stock.invalid', ['Stock.invalid'])
  t.equal(profile, `http://stock.invalid:${port}/_profiler/abcdef`)
  t.match(page, /The profile was not received[^]+<code>[^<]*stock\.invalid/)
  t.same(requests, [])
  for (const [send, problem] of [
    [(response: http.ServerResponse) => response.writeHead(302, { location: '/elsewhere' }).end(), /redirect/],
    [(response: http.ServerResponse) => response.writeHead(403).end(), /the called server answered 403/],
    [(response: http.ServerResponse) => response.end('<html>'), /JSON/],
    [(response: http.ServerResponse) => response.end('{"token":1}'), /token&#34; must be a string/],
    [(response: http.ServerResponse) => response.end(' '.repeat(5_000_000)), /more than 4 MB/]
  ] as const) {
    answer = send
    t.match((await called('127.0.0.1', [])).page, problem)
  }
  t.same(requests, Array.from({ length: 5 }, () => ['/_profiler/abcdef.json', undefined]))
})

inBothProducts('a request is the parent of those that it sent to servers with the same store', async (t, build) => {
  const { shop, stock } = await services(build, { storage: 'sqlite', dataDir: testdir(t) })
  const { token, collectors } = await profileOf(shop, await shop.inject('/'))
  const [call] = (collectors['http-client'] as { calls: Array<{ profile: string }> }).calls
  const child = await until(async () => await stock.hindsight.profiler.find(String(call?.profile).slice(-6)), ({ parent }) => parent !== undefined)
  t.equal(child.parent, token)
  // A search waits at most a second for the store.
  await stock.hindsight.profiler.flush()
  t.match((await stock.hindsight.profiler.search({ criteria: { parent: token }, limit: 5 })).profiles, [{ token: child.token, parent: token }])
  t.match(await pageOf(shop, token, ''), child.token)
})

inBothProducts('a profile of another store with the same token is no child', async (t, build) => {
  const { shop, origin } = await services(build)
  const response = await shop.inject('/')
  const { token, collectors, ...profile } = await profileOf(shop, response)
  const [call] = (collectors['http-client'] as { calls: Array<{ profile: string }> }).calls
  t.match(call?.profile, origin)
  const other = { ...profile, token: String(call?.profile).slice(-6), time: new Date(Date.parse(profile.time) - 60_000).toISOString(), collectors: {} }
  shop.hindsight.profiler.save(other)
  await sleep(1_500)
  t.equal((await shop.hindsight.profiler.find(other.token))?.parent, undefined)
  t.not(token, other.token)
})

async function listenOn (server: http.Server): Promise<void> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
}

async function until (find: () => Promise<Profile | undefined>, isFound: (profile: Profile) => boolean): Promise<Profile> {
  for (;;) {
    const profile = await find()
    if (profile !== undefined && isFound(profile)) return profile
    await sleep(50)
  }
}
