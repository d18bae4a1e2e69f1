import { get, listen } from '../support/app.js'
import { inBothProducts } from '../support/products.js'

inBothProducts('the client is the first address from the right that is no trusted proxy', async (t, build) => {
  const app = await build((app) => {
    app.get('/', async (request) => {
      const { ip, proxies } = app.hindsight.originOf(request)
      return { ip, proxies }
    })
  }, { trustedProxies: ['127.0.0.1', '10.0.0.0/8'] })
  const port = await listen(app)
  for (const [header, ip, proxies] of [
    ['203.0.113.9', '203.0.113.9', ['127.0.0.1']],
    ['203.0.113.9, 10.0.0.1', '203.0.113.9', ['127.0.0.1', '10.0.0.1']],
    ['192.0.2.1, 203.0.113.9, 10.0.0.2, 10.0.0.1', '203.0.113.9', ['127.0.0.1', '10.0.0.1', '10.0.0.2']],
    ['203.0.113.9, 10.0.0.3, 10.0.0.2, 10.0.0.1', '203.0.113.9', ['127.0.0.1', '10.0.0.1', '10.0.0.2', '10.0.0.3']],
    ['10.0.0.2, 10.0.0.1', '10.0.0.2', ['127.0.0.1', '10.0.0.1', '10.0.0.2']],
    ['10.0.0.2, 203.0.113.9, 10.0.0.1', '203.0.113.9', ['127.0.0.1', '10.0.0.1']]
  ] as const) {
    t.match(await get(port, '/', { 'X-Forwarded-For': header }), JSON.stringify({ ip, proxies }), header)
    const forwarded = header.split(', ').map((address) => `for=${address}`).join(', ')
    t.match(await get(port, '/', { Forwarded: forwarded }), JSON.stringify({ ip, proxies }), forwarded)
  }
})
