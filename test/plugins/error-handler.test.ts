import t from 'tap'
import { build, listen, rawText as raw, statusOf } from '../../packages/hindsight/test/support/app.js'

// Made at run time, as the page shows the source.
const SECRETS = [1, 2, 3, 4].map((n) => `hunter${n}`)
const [S1 = '', S2 = '', S3 = '', S4 = ''] = SECRETS

t.test('secrets in the text of an error are in no format of the page and in no header', async t => {
  const app = await build(t, {}, app => app.get('/', async () => {
    throw new Error(`conn postgres://u:${S1}@db/x api_key=${S2} {"password":"${S3}"}`, { cause: new Error(`token=${S4}`) })
  }))
  for (const accept of ['text/html', 'application/json', 'text/plain', 'text/markdown']) {
    const { body, headers, statusCode } = await app.inject({ url: '/', headers: { accept } })
    t.equal(statusCode, 500)
    for (const secret of SECRETS) {
      t.notOk(body.includes(secret), `${accept}: ${secret}`)
      t.notOk(String(headers['x-debug-exception']).includes(secret), `x-debug-exception: ${secret}`)
    }
    t.ok(body.includes('conn postgres'), `${accept}: the rest of the message is shown`)
  }
  const { profiles: [newest] } = await app.hindsight.profiler.search({ limit: 1 })
  const profile = JSON.stringify(await app.hindsight.profiler.find(newest?.token ?? ''))
  for (const secret of SECRETS) t.notOk(decodeURIComponent(profile.replaceAll(/%(?![0-9A-F]{2})/g, '%25')).includes(secret), `profile: ${secret}`)
})

t.test('the short error with both errors is negotiated and masked', async t => {
  const app = await build(t, {}, async app => {
    app.get('/route', { onSend: async () => { throw new Error(`password=${S1}`) } }, async () => { throw new Error(`postgres://u:${S2}@h`) })
    await app.register(async (part) => {
      part.addHook('onSend', async () => { throw new Error(`password=${S1}`) })
      part.get('/', async () => { throw new Error(`postgres://u:${S2}@h`) })
    })
  })
  for (const [accept, type] of [
    ['text/html', 'text/html; charset=utf-8'], ['application/json', 'application/json'], ['application/problem+json', 'application/problem+json'],
    ['text/plain', 'text/plain; charset=utf-8'], ['text/markdown', 'text/markdown; charset=utf-8']
  ] as const) {
    const response = await app.inject({ url: '/', headers: { accept } })
    t.equal(response.statusCode, 500, accept)
    t.equal(response.headers['content-type'], type)
    t.match(response.body, 'postgres://u:')
    t.match(response.body, /password(?:=|&#61;)\*{6}/)
    for (const secret of SECRETS) t.notOk(response.body.includes(secret), `${accept}: ${secret}`)
  }
  const problem = (await app.inject({ url: '/', headers: { accept: 'application/json' } })).json()
  t.match(problem.detail, /postgres[^]*password/, 'both are named')
  const ofRoute = await app.inject({ url: '/route', headers: { accept: 'text/plain' } })
  t.match(ofRoute.body, /postgres:\/\/u:\*{6}@h[^]*password=\*{6}/, 'a hook of the route')
})

t.test('production: the short error has no detail, in the format that the client accepts', async t => {
  const app = await build(t, { debug: false }, app => {
    app.get('/', { onSend: async () => { throw new Error('second') } }, async () => { throw new Error('first') })
  })
  const response = await app.inject({ url: '/', headers: { accept: 'application/json' } })
  t.equal(response.statusCode, 500)
  t.match(response.json(), { title: 'Internal Server Error', status: 500 })
  t.notOk(/first|second/.test(response.body))
})

t.test('the reason phrase matches the status, even if the first head could not be written', async t => {
  const app = await build(t, {}, app => app.get('/', (_request, reply) => reply.header('x-split', 'a\r\nb').send('x')))
  const answer = await raw(await listen(app), 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  t.equal(statusOf(answer), 500)
  t.equal(answer.split('\r\n', 1)[0], 'HTTP/1.1 500 Internal Server Error')
})
