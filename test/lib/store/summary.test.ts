import t from 'tap'
import { isNoise } from '../../../lib/store/summary.js'

t.test('404s of icons without a route are noise', async (t) => {
  const missing = { status: 404, route: null }
  for (const path of ['/favicon.ico', '/favicon.ico?v=2', '/app/favicon.ico', '/apple-touch-icon-120x120.png']) {
    t.ok(isNoise({ ...missing, url: `http://h.example:3000${path}` }), path)
    t.notOk(isNoise({ ...missing, status: 500, url: `http://h${path}` }), `${path} with 500`)
    t.notOk(isNoise({ ...missing, route: 'x', url: `http://h${path}` }), `${path} with a route`)
  }
  for (const path of ['', '/', '/orders', '/robots.txt', '/favicon.icon', '/favicon.ico/x']) {
    t.notOk(isNoise({ ...missing, url: `http://index.php${path}` }), path)
  }
  t.notOk(isNoise({ ...missing, url: '\u0000not a URL' }))
})
