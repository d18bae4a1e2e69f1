import t from 'tap'
import { build, eventOf, profileOf } from '../../packages/hindsight/test/support/app.js'

t.test('cacheable responses vary by origin on paths with CORS', async t => {
  const app = await build(t, { cors: [{ path: '/api', origin: ['https://a.test'] }] }, app => {
    for (const prefix of ['/api', '/other']) {
      app.get(prefix, (request, reply) => {
        const { control, vary } = request.query as { control?: string, vary?: string }
        if (control !== undefined) reply.header('cache-control', control)
        if (vary !== undefined) reply.header('vary', vary)
        return 'x'
      })
    }
  })
  for (const [name, url, expected, outcome] of [
    ['public', '/api?control=public', 'Origin', 'ran'],
    ['max-age', '/api?control=max-age%3D60', 'Origin', 'ran'],
    ['beside what is there', '/api?control=public&vary=Accept', 'Accept, Origin', 'ran'],
    ['not twice', '/api?control=public&vary=origin', 'origin', 'ran'],
    ['any', '/api?control=public&vary=*', '*', 'ran'],
    ['private', '/api?control=private,max-age%3D60', undefined, 'the response is not cacheable'],
    ['no-store', '/api?control=no-store', undefined, 'the response is not cacheable'],
    ['the default', '/api', undefined, 'the response is not cacheable'],
    ['stale at once', '/api?control=max-age%3D0', undefined, 'the response is not cacheable'],
    ['another path', '/other?control=public', undefined, 'no CORS rule for this path']
  ] as const) {
    for (const headers of [{}, { origin: 'https://a.test' }, { origin: 'https://evil.test' }]) {
      const response = await app.inject({ url, headers })
      t.equal(response.headers.vary, expected, `${name}, ${JSON.stringify(headers)}`)
      const event = eventOf(await profileOf(app, response), 'kernel.response', 'cors-vary')
      t.match(event, outcome === 'ran' ? { outcome: 'ran' } : { outcome: 'skipped', reason: outcome })
    }
  }
})

t.test('without CORS no response varies by origin', async t => {
  const app = await build(t, {}, app => app.get('/', (_request, reply) => reply.header('cache-control', 'public').send('x')))
  const response = await app.inject('/')
  t.equal(response.headers.vary, undefined)
  t.match(eventOf(await profileOf(app, response), 'kernel.response', 'cors-vary'), { outcome: 'skipped', reason: 'not configured' })
})
