import { ISOLATION, pageAssets, toolbarAssets } from '../../../src/reading/pages/layout.js'
import { listen, newest, raw } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'

inBothProducts('assets have their media type, and browsers cache them', async (t, build) => {
  const app = await build()
  t.teardown(() => app.close())
  const all = [...Object.values(pageAssets), ...Object.values(toolbarAssets)]
  t.equal(new Set(all.map(({ name }) => name)).size, 4)
  for (const { name, type, content } of all) {
    t.match(name, /^[0-9a-f]{16}\.(?:css|js)$/)
    const response = await app.inject(`/_profiler/assets/${name}`)
    t.equal(response.body, content, name)
    t.match(response.headers, {
      'content-type': type,
      'cache-control': 'private, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      ...ISOLATION
    }, name)
  }
})

inBothProducts('assets are sent to clients with access, for their own origin', async (t, build) => {
  const app = await build()
  t.teardown(() => app.close())
  const port = await listen(app)
  for (const { name } of Object.values(toolbarAssets)) {
    const path = `/_profiler/assets/${name}`
    t.equal((await raw(port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`))?.status, 200)
    t.equal((await raw(port, `GET ${path} HTTP/1.1\r\nHost: rebound.example\r\n\r\n`))?.status, 404)
    const foreign = await app.inject({ url: path, headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' } })
    t.equal(foreign.statusCode, 403)
  }
})

inBothProducts('no page, answer or refusal is read as another type than it declares', async (t, build) => {
  const app = await build((app) => { app.get('/boom', () => { throw new Error('boom') }) })
  await app.inject('/boom')
  const { token } = await newest(app)
  const port = await listen(app)
  const [asset] = Object.values(pageAssets)
  for (const [path, init, status] of [
    ['/_profiler/', {}, 200], ['/_profiler/search.json', {}, 200], [`/_profiler/${token}`, {}, 200], [`/_profiler/${token}?panel=logs`, {}, 200],
    [`/_profiler/${token}.json`, {}, 200], [`/_profiler/${token}.md`, {}, 200], ['/_profiler/stream', {}, 200], [`/_wdt/${token}`, {}, 200],
    [`/_profiler/assets/${asset?.name}`, {}, 200], ['/_profiler/assets/none.js', {}, 404], ['/_profiler/000000', {}, 404],
    ['/_profiler/?limit=abc', {}, 400], ['/_profiler/', { headers: { 'sec-fetch-site': 'cross-site' } }, 403]
  ] as const) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { ...init, redirect: 'manual' })
    t.same([response.status, response.headers.get('x-content-type-options')], [status, 'nosniff'], path)
    await response.body?.cancel()
  }
})
