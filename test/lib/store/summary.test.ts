import t from 'tap'
import { isNoise } from '../../../lib/store/summary.js'

t.test('404s of what browsers request of any server are noise', async (t) => {
  const missing = { status: 404, route: null }
  for (const path of [
    '/favicon.ico', '/favicon.ico?v=2', '/app/favicon.ico', '/apple-touch-icon-120x120.png', '/.well-known/appspecific/com.chrome.devtools.json',
    '/assets/index-Dk3.js.map', '/style.css.map?t=1', '/sw.js', '/firebase-messaging-sw.js', '/service-worker.js', '/serviceworker.js', '/ngsw-worker.js',
    '/manifest.json', '/site.webmanifest', '/app/manifest.webmanifest'
  ]) {
    t.ok(isNoise({ ...missing, url: `http://h.example:3000${path}` }), path)
    t.ok(isNoise({ ...missing, route: 'GET /*', url: `http://h${path}` }), `${path} with a route for any path, such as that of @fastify/static`)
    t.notOk(isNoise({ ...missing, status: 500, url: `http://h${path}` }), `${path} with 500`)
    t.notOk(isNoise({ ...missing, route: 'x', url: `http://h${path}` }), `${path} with a route`)
  }
  for (const path of [
    '', '/', '/orders', '/robots.txt', '/favicon.icon', '/favicon.ico/x', '/orders?next=/favicon.ico', '/login#/sw.js', '/.well-known/openid-configuration',
    '/world.map', '/maps.js', '/worker.js', '/news.js', '/orders/manifest', '/package.json'
  ]) {
    t.notOk(isNoise({ ...missing, url: `http://index.php${path}` }), path)
  }
  t.notOk(isNoise({ ...missing, url: '\u0000not a URL' }))
})
