import { ISOLATION, pageAssets, toolbarAssets } from '../../../src/reading/pages/layout.js'
import { listen, raw } from '../../support/app.js'
import { inBothModes } from '../../support/modes.js'

inBothModes('assets have their media type, and browsers cache them', async (t, build) => {
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

inBothModes('assets are sent to clients with access, for their own origin', async (t, build) => {
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
