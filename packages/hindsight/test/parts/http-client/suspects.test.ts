import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { JSDOM } from 'jsdom'
import t from 'tap'
import { httpClient } from '../../../src/parts/http-client/index.js'
import { inBothProducts } from '../../support/products.js'
import { profile } from '../fixture.js'

const ANSWERS: Record<string, [status: number, headers: Record<string, string>, body: string]> = {
  '/page': [200, { 'content-type': 'text/html; charset=utf-8' }, '<!DOCTYPE html><p>Maintenance'],
  '/none': [204, {}, ''],
  '/empty': [200, { 'content-type': 'application/json' }, ''],
  '/cut': [200, { 'content-type': 'application/json' }, '{"rate":'],
  '/bad': [502, { 'content-type': 'text/html' }, '<p>Bad gateway'],
  '/good': [200, { 'content-type': 'application/json' }, '{}']
}
const upstream = createServer(({ url = '' }, response) => {
  const [status, headers, body] = ANSWERS[url.replace(/\?.*/, '')] ?? [404, {}, '']
  response.writeHead(status, { ...headers, ...(status !== 204 && { 'content-length': body.length }) }).end(body)
}).listen(0)
await once(upstream, 'listening')
t.teardown(() => upstream.close())
const address = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`

inBothProducts('the call whose response is not JSON is named', async (t, build) => {
  const app = await build((app) => {
    app.addHook('onError', async () => { await (await fetch(`${address}/good?report`)).text() })
    app.get('/json/:name', async (request) => {
      await (await fetch(`${address}/good`)).json()
      return await (await fetch(`${address}/${(request.params as { name: string }).name}`)).json()
    })
    app.get('/text', async () => {
      const text = await (await fetch(`${address}/page`, { headers: { accept: 'application/json, */*' } })).text()
      return (text as unknown as { days: number[] }).days[0]
    })
    app.get('/page', async () => {
      await (await fetch(`${address}/page`)).text()
      throw new Error('other')
    })
    app.get('/circle', async () => {
      await (await fetch(`${address}/page`)).text()
      const circle: Record<string, unknown> = {}
      circle.self = circle
      return JSON.stringify(circle)
    })
    app.get('/local', async () => JSON.parse('{') as unknown)
    app.post('/body', async () => ({}))
  })
  const shown = async (url: string, options = {}) => {
    const response = await app.inject({ url, headers: { accept: 'text/html' }, ...options })
    const overview = await app.inject({ url: `/_profiler/${String(response.headers['x-debug-token'])}`, headers: { accept: 'text/html' } })
    const texts = (body: string, selector: string) =>
      [...JSDOM.fragment(body).querySelectorAll(selector)].map((one) => one.textContent.replace(/\s+/g, ' ').trim())
    return { hints: texts(response.body, '.hint'), facts: texts(overview.body, '.facts-list .failure') }
  }
  const line = '(?:, no body: fetch shows it in .*)?from \\S*suspects\\.test\\.ts:\\d+$'
  // Where the body is not published, the page says so behind its type.
  for (const [name, result] of [['page', '200 text/html'], ['none', '204'], ['empty', '200 application/json']]) {
    const { hints, facts } = await shown(`/json/${name}`)
    t.match(hints, [new RegExp(`^Response without JSON GET http:\\S+/${name} ${result}.* \\S*suspects\\.test\\.ts:\\d+$`)])
    t.match(facts, [new RegExp(`^Response without JSON: GET http:\\S+/${name}: ${result}${line}`)])
  }
  t.match((await shown('/json/cut')).hints, [/^Last call before the error GET http:\S+\/cut 200 application\/json\b/])
  t.match((await shown('/json/cut')).facts, [new RegExp(`^Last call before the error: GET http:\\S+/cut: 200 application/json${line}`)])
  t.match((await shown('/json/bad')).hints, [/^Failed calls to other servers GET http:\S+\/bad 502 text\/html\b/])
  t.match((await shown('/text')).hints, [/^Response without JSON GET http:\S+\/page 200 text\/html\b/], 'a client that returns the text')
  t.same((await shown('/page')).hints, [], 'a page was requested')
  t.same((await shown('/circle')).hints, [], 'it is no parser that mentions JSON')
  t.same((await shown('/local')).hints, [])
  const { hints } = await shown('/body', { method: 'POST', payload: '{', headers: { accept: 'text/html', 'content-type': 'application/json' } })
  t.same(hints.filter((text) => /call|JSON/.test(text)), [])
})

t.test('a failed call has the JSON that its server has answered, or the media type', (t) => {
  const call = { method: 'GET', url: 'http://h/rates', status: 404, start: 0, duration: 1, responseHeaders: { 'content-type': 'application/json' } }
  const textOf = (responseBody?: unknown) =>
    httpClient.hints?.({ calls: [{ ...call, responseBody }] }, profile('000001')).map(({ steps }) => steps?.[0]?.text)
  t.same(textOf({ error: 'unknown currency' }), ['404 {"error":"unknown currency"}'])
  t.same(textOf('<html>'), ['404 application/json'])
  t.same(textOf(), ['404 application/json'])
  t.end()
})
