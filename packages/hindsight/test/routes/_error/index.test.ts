import { inBothProducts } from '../../support/products.js'

const cases: Array<[path: string, accept: string, status: number, type: string, body: RegExp]> = [
  ['/_error/404', 'text/html', 404, 'text/html; charset=utf-8', /<title>An Error Occurred: Not Found<\/title>/],
  ['/_error/500', 'application/json', 500, 'application/json; charset=utf-8', /"title":"Internal Server Error"/],
  ['/_error/503.json', 'text/html', 503, 'application/json; charset=utf-8', /"status":503/],
  ['/_error/403.txt', 'text/html', 403, 'text/plain; charset=utf-8', /Forbidden/],
  ...['constructor', 'tostring', 'valueof'].map((name): (typeof cases)[number] =>
    [`/_error/404.${name}`, 'application/json', 404, 'text/html; charset=utf-8', /Not Found/]),
  ['/_error/404.xml', 'text/html', 404, 'text/html; charset=utf-8', /An Error Occurred: Not Found/],
  ['/_error/499', 'text/html', 499, 'text/html; charset=utf-8', /An Error Occurred: Error/]
]

inBothProducts('the route shows the short error of production', async (t, build, product) => {
  const app = await build()
  for (const [path, accept, status, type, body] of cases) {
    const response = await app.inject({ url: path, headers: { accept } })
    t.equal(response.statusCode, status, path)
    t.equal(response.headers['content-type'], type, path)
    t.match(response.body, body, path)
    t.equal(response.headers.vary, path.includes('.') ? undefined : 'Accept', `${path}: negotiated or not`)
    // With the package the pages belong to a private instance.
    t.match(response.headers['x-debug-token'], product === 'service' ? /^[0-9a-f]{6}$/ : undefined, `${path} is profiled`)
  }
})

inBothProducts('a path without an error status is a 404', async (t, build, product) => {
  const app = await build()
  for (const path of ['/_error/abc', '/_error/200', '/_error/4040', '/_error/']) {
    const response = await app.inject({ url: path, headers: { accept: 'text/plain' } })
    t.equal(response.statusCode, 404, path)
    t.match(response.body, product === 'service' ? `No route found for "GET http://localhost${path}"` : 'Not Found')
  }
})

inBothProducts('production does not have this route', async (t, build) => {
  const app = await build(undefined, { debug: false })
  const response = await app.inject({ url: '/_error/500', headers: { accept: 'text/plain' } })
  t.equal(response.statusCode, 404)
})
