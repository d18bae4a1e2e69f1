import { requested } from '../../reading/formats/stored.js'
import { inBothProducts } from '../../support/products.js'

inBothProducts('the request of a profile is downloaded in each format', async (t, build) => {
  const app = await build()
  t.teardown(() => app.close())
  app.hindsight.profiler.save(requested({ target: '/a', headers: { 'x-a': '<script>alert(1)</script>' } }))
  for (const [format, file, type, content] of [
    ['curl', 'hindsight-3fa94c.sh', 'text/plain; charset=utf-8', "--url 'http://127.0.0.1:3000/a'"],
    ['test', 'hindsight-3fa94c.test.mjs', 'text/plain; charset=utf-8', "import { test } from 'node:test'"]
  ] as const) {
    const { statusCode, headers, body } = await app.inject({ url: `/_profiler/3fa94c/as/${format}`, headers: { accept: 'text/html' } })
    t.equal(statusCode, 200, format)
    t.match(
      headers,
      { 'content-type': type, 'content-disposition': `attachment; filename="${file}"`, 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' },
      format
    )
    t.match(body, content, format)
    t.equal(headers['access-control-allow-origin'], undefined, format)
  }
})

inBothProducts('unknown formats, tokens and requests that cannot be sent are errors', async (t, build) => {
  const app = await build()
  t.teardown(() => app.close())
  app.hindsight.profiler.save(requested({}))
  app.hindsight.profiler.save({ ...requested({ rawMessage: 'X' }), token: '00000a' })
  for (const [url, status, detail] of [
    ['3fa94c/as/python', 404, 'A profile is not available as "python"; the formats are: curl, test.'],
    ['3fa94c/as/__proto__', 404, /is not available as "__proto__"/],
    ['ffffff/as/curl', 404, 'Token "ffffff" was not found.'],
    ['00000a/as/curl', 409, 'The request of this profile cannot be sent again: It was refused by the HTTP parser.']
  ] as const) {
    const response = await app.inject({ url: `/_profiler/${url}`, headers: { accept: 'application/json' } })
    t.match([response.statusCode, response.json().detail], [status, detail], url)
  }
})
