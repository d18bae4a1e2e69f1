import { EventEmitter, once } from 'node:events'
import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import t from 'tap'
import { chromium } from '../../../support/browser.js'
import { axeViolations, OBSERVE_SHIFTS, watchedPage } from '../../../support/page.js'
import { listen } from '../../../../support/app.js'
import { inBothProducts } from '../../../../support/products.js'

const browser = await chromium(t)
const NONCE = 'cGFnZQ=='

/** A front end on a server of its own, with a strict policy. */
async function frontEnd (t: { teardown: (end: () => void) => void }, api: string): Promise<string> {
  const policy = `default-src 'none'; script-src 'nonce-${NONCE}'; connect-src ${api}; base-uri 'none'`
  const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Front end</title>
<script nonce="${NONCE}" src="${api}/_wdt/toolbar.js"></script></head><body><main><h1>Shop</h1></main></body></html>`
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html', 'content-security-policy': policy }).end(page)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => { server.close().closeAllConnections() })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The same behind a proxy with one origin, which sends its target's own address as the host, as that of Vite. */
async function proxied (t: { teardown: (end: () => void) => void }, api: string): Promise<string> {
  const page = `<!doctype html><html lang="en"><head><title>Front end</title><script>fetch('/stream?hold=1')</script>
<script src="/_wdt/toolbar.js"></script></head></html>`
  const server = createServer((request, response) => {
    const { method, url = '/', headers } = request
    if (url === '/') return response.writeHead(200, { 'content-type': 'text/html' }).end(page)
    const passed = send(api + url, { method, headers: { ...headers, host: new URL(api).host } }, (answer) => {
      answer.pipe(response.writeHead(answer.statusCode ?? 0, answer.headers))
    })
    request.pipe(passed)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => { server.close().closeAllConnections() })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function declare (app: FastifyInstance): void {
  // The header with the profile is exposed by neither.
  app.addHook('onRequest', async (_request, reply) => { reply.header('access-control-allow-origin', '*') })
  app.get('/orders', async () => [])
  app.post('/orders', async () => [])
  let end = (): void => {}
  app.get('/stream', async (request: FastifyRequest<{ Querystring: { hold?: string } }>, reply) => {
    const stream = new PassThrough()
    stream.write('begun')
    if (request.query.hold === undefined) stream.end()
    else end = () => stream.end()
    return await reply.send(stream)
  })
  app.get('/end', async () => { end(); return 'ended' })
  app.get('/broken', async () => { throw new TypeError('no price for the lamp') })
}

if (browser !== undefined) {
  inBothProducts('a page of another server has the toolbar by one script', async (t, build) => {
    const app = await build(declare)
    const api = `http://127.0.0.1:${await listen(app)}`
    const front = await frontEnd(t, api)
    const { page, heard } = await watchedPage(browser, front)
    await page.addInitScript(OBSERVE_SHIFTS)
    await page.goto(front)
    const requests = page.locator('.requests')
    await requests.waitFor()
    t.same(await page.evaluate(`Promise.all(['/orders', '/broken'].map(async (path) => (await fetch('${api}' + path)).status))`), [200, 500])
    await requests.locator('.message').waitFor({ state: 'attached' })
    t.equal(await requests.locator('.message').textContent(), 'TypeError: no price for the lamp')
    t.equal(await requests.locator('.head').textContent(), '2 requests, 1 failed')
    await requests.locator('.link a').nth(1).waitFor({ state: 'attached' })
    const links = await requests.locator('.link a').evaluateAll((all: HTMLAnchorElement[]) => all.map(({ href }) => href))
    for (const link of links) t.ok(link.startsWith(`${api}/_profiler/`), link)
    await requests.hover()
    t.ok(await requests.locator('.message').isVisible())
    t.same(await axeViolations(page), [])
    t.same(await page.evaluate('shifts'), [])
    t.same(heard.filter((one) => !one.startsWith(`request ${api}/`)), [], 'nothing is refused by the policy of the page')
    await page.close()
  }, t)

  inBothProducts('behind a proxy, requests are linked by its origin', async (t, build) => {
    const app = await build(declare)
    const front = await proxied(t, `http://127.0.0.1:${await listen(app)}`)
    const { page } = await watchedPage(browser, front)
    await page.goto(front)
    const requests = page.locator('.requests')
    await requests.waitFor()
    t.equal(await page.evaluate("fetch('/broken').then(({ status }) => status)"), 500)
    await requests.locator('.message').waitFor({ state: 'attached' })
    t.equal(await requests.locator('.message').textContent(), 'TypeError: no price for the lamp')
    await page.evaluate(`new Promise((resolve) => {
      const request = new XMLHttpRequest()
      request.onloadend = resolve
      request.open('GET', '/orders')
      request.send()
    })`)
    await requests.locator('.link a').nth(1).waitFor({ state: 'attached' })
    await page.evaluate("fetch('/stream').then((response) => response.text())")
    await requests.locator('.link a').nth(2).waitFor({ state: 'attached' })
    await fetch(`${front}/end`)
    // The request before the toolbar has the profile that no other row has.
    await requests.locator('.link a').nth(3).waitFor({ state: 'attached' })
    const links = await requests.locator('.link a').evaluateAll((all: HTMLAnchorElement[]) => all.map(({ href }) => href))
    for (const link of links) t.ok(link.startsWith(`${front}/_profiler/`), link)
    const profiles = await Promise.all(links.map(async (link) => await app.hindsight.profiler.find(link.slice(-6))))
    t.same(profiles.map((profile) => new URL(profile?.url ?? '').pathname + new URL(profile?.url ?? '').search).sort(),
      ['/broken', '/orders', '/stream', '/stream?hold=1'])
    await page.close()
  }, t)

  inBothProducts('a request without a readable header has the profile of its method, also if that is stored late', async (t, build) => {
    const app = await build(declare)
    const api = `http://127.0.0.1:${await listen(app)}`
    const front = await frontEnd(t, api)
    const { page } = await watchedPage(browser, front)
    await page.goto(front)
    const methodOf = async (text: string): Promise<string | undefined> => {
      const link = page.locator('.requests li', { hasText: text }).locator('.link a')
      await link.waitFor({ state: 'attached' })
      const token = (await link.getAttribute('href'))?.slice(-6) ?? ''
      const profile = await app.hindsight.profiler.find(token)
      return `${profile?.method} ${profile?.url.replace(api, '')}`
    }
    // Another page, or a command, has sent the same path.
    await fetch(`${api}/orders`)
    await page.evaluate(`Promise.all(['POST', 'GET'].map((method) => fetch('${api}/orders', { method })))`)
    t.equal(await methodOf('POST'), 'POST /orders')
    t.equal(await methodOf('GET'), 'GET /orders')
    await page.evaluate(`fetch('${api}/stream').then((response) => response.text())`)
    t.equal(await methodOf('/stream'), 'GET /stream')
    const answered = page.waitForResponse((response) => response.url().includes('url=%2Fstream'))
    // The toolbar searches for a second: its next search is sent when the response has ended.
    const steps = new EventEmitter()
    const ended = once(steps, 'ended')
    let searches = 0
    await page.route((url) => url.search.includes('url=%2Fstream'), async (route) => {
      if (searches++ > 0) await ended
      await route.continue()
    })
    await page.evaluate(`fetch('${api}/stream?hold=1').then(() => {})`)
    t.match(await (await answered).json(), { profiles: [{ url: `${api}/stream` }] }, 'the first answer has only that of another row')
    await fetch(`${api}/end`)
    steps.emit('ended')
    t.equal(await methodOf('/stream?hold'), 'GET /stream?hold=1')
    await page.close()
  }, t)
}

inBothProducts('only pages that may see the debug surface have the toolbar', async (t, build, product) => {
  const app = await build(declare, { debugHosts: ['shop.example'] })
  const api = `http://127.0.0.1:${await listen(app)}`
  const ask = async (path: string, headers: Record<string, string>) => {
    const response = await fetch(api + path, { headers: { 'sec-fetch-site': 'cross-site', accept: 'application/json', ...headers } })
    return { status: response.status, text: await response.text(), allowed: response.headers.get('access-control-allow-origin') }
  }
  for (const path of ['/_wdt/toolbar.js', '/_wdt/requests.json?status=500']) {
    for (const origin of ['http://localhost:5173', 'http://127.0.0.1:4000', 'https://shop.example']) {
      t.match(await ask(path, { origin }), { status: 200, allowed: origin }, `${path} for ${origin}`)
    }
    t.match(await ask(path, { referer: 'http://localhost:5173/cart' }), { status: 200, allowed: null }, 'a tag without crossorigin')
    for (const headers of [{ origin: 'https://evil.example' }, { referer: 'https://evil.example/' }, { origin: 'null' }, {}]) {
      const { status, text, allowed } = await ask(path, headers as Record<string, string>)
      t.same([status, allowed], [403, null], `${path} for ${JSON.stringify(headers)}`)
      if (product === 'package') t.match(text, 'may not have the toolbar: the option debugHosts of Hindsight has to name its host.')
    }
  }
  t.equal((await ask('/_profiler/search.json', { origin: 'http://localhost:5173' })).status, 403, 'the pages of the profiler stay closed')
  const script = await ask('/_wdt/toolbar.js', { origin: 'http://localhost:5173' })
  t.notMatch(script.text, /_profiler\/[0-9a-f]{6}/, 'the script has no data')
})
