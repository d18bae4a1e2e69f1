import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { listen, profileOf } from './support/app.js'
import { inBothProducts } from './support/products.js'
import { withoutMarks } from './support/marks.js'

const HTML = { accept: 'text/html' }

inBothProducts('a captured exception of a 200 is in the profile, in each of its forms', async (t, build) => {
  const app = await build((app) => {
    app.get('/', async (request) => {
      request.hindsight.capture(new TypeError('the second cause', { cause: new Error('the root') }))
      request.hindsight.capture(new RangeError('another one'))
      return { fine: true }
    })
    app.get('/html', async (request, reply) => {
      request.hindsight.capture(new Error('shown by the toolbar'))
      return reply.type('text/html').send('<!doctype html><title>Page</title><body>Page</body>')
    })
  })
  const response = await app.inject('/')
  t.same(response.json(), { fine: true })
  const profile = await profileOf(app, response)
  t.same(profile.exceptions.map(({ message }) => message), ['the root', 'the second cause'])
  t.ok(profile.exceptions.at(-1)?.frames[0]?.own)
  t.match(profile.collectors.otherErrors, [[{ name: 'RangeError' }]])
  for (const query of ['error=1', 'exception=TypeError', 'exception=the%20root', 'exception=another']) {
    const listed = { token: profile.token, status: 200, error: true, exception: 'Error: the root' }
    t.match((await app.inject(`/_profiler/search.json?${query}`)).json(), { profiles: [listed] }, query)
  }
  const page = async (url: string): Promise<string> => (await app.inject({ url, headers: HTML })).body
  t.match(await page('/_profiler/search'), 'Error: the root')
  t.match(await page(`/_profiler/${profile.token}?panel=exceptions`), 'the second cause')
  t.match(await page(`/_profiler/${profile.token}?panel=otherErrors`), 'another one')
  const markdown = withoutMarks((await app.inject(`/_profiler/${profile.token}.md`)).body)
  t.match(markdown, 'the second cause')
  t.match(markdown, 'RangeError: another one')
  t.match(await page(`/_wdt/${profile.token}`), 'Error: the root')
  const html = await app.inject({ url: '/html', headers: HTML })
  t.match(html.body, 'Error: shown by the toolbar')
})

inBothProducts('any value can be captured, each once', async (t, build) => {
  const hostile = new Proxy({}, { get () { throw new Error('trap') }, getPrototypeOf () { throw new Error('trap') } })
  const error = new Error('twice')
  const different = ['only text', null, undefined, NaN, 0, Symbol('mark'), hostile, Object.create(null), error]
  const values = [...different, error, 'only text', null, undefined]
  const app = await build((app) => app.get('/', async ({ hindsight: { capture } }) => {
    for (const value of values) capture(value)
    return 'fine'
  }))
  const { exceptions, collectors } = await profileOf(app, await app.inject('/'))
  t.match(exceptions, [{ name: 'Thrown string', message: 'only text' }])
  t.same((collectors.otherErrors as Array<[{ name: string }]>).map(([{ name }]) => name), [
    'Thrown null', 'Thrown undefined', 'Thrown number', 'Thrown number', 'Thrown symbol', 'Thrown object',
    'Thrown object', 'Error'
  ])
})

inBothProducts('an undefined that is captured alone is an exception', async (t, build) => {
  const app = await build((app) => app.get('/', async (request) => {
    request.hindsight.capture(undefined)
    return 'fine'
  }))
  t.match((await profileOf(app, await app.inject('/'))).exceptions, [{ name: 'Thrown undefined' }])
})

inBothProducts('an error that is captured and then thrown is in the profile once', async (t, build) => {
  const app = await build((app) => app.get('/', async (request) => {
    const error = new Error('both')
    request.hindsight.capture(error)
    throw error
  }))
  const { exceptions, collectors } = await profileOf(app, await app.inject('/'))
  t.match(exceptions, [{ message: 'both' }])
  t.equal(collectors.otherErrors, undefined)
})

inBothProducts('a profile holds at most 25 exceptions', async (t, build) => {
  const app = await build((app) => app.get('/', async (request) => {
    for (let i = 0; i < 1_000; i++) request.hindsight.capture(new Error(`number ${i}`))
    return 'fine'
  }))
  const { exceptions, collectors } = await profileOf(app, await app.inject('/'))
  t.equal(exceptions.length + (collectors.otherErrors as unknown[]).length, 25)
})

inBothProducts('after the response the profile is stored again, with the duration of the response', async (t, build) => {
  let kept: FastifyRequest | undefined
  const app = await build((app) => app.get('/', async (request) => { kept = request; return 'fine' }))
  const port = await listen(app)
  const response = await fetch(`http://127.0.0.1:${port}/`)
  await response.text()
  const answer = { headers: Object.fromEntries(response.headers) }
  const before = await profileOf(app, answer)
  t.same(before.exceptions, [])
  await sleep(20)
  kept?.hindsight.capture(new Error('late'))
  await app.hindsight.profiler.flush()
  const after = await profileOf(app, answer)
  t.match(after.exceptions, [{ message: 'late' }])
  t.equal(after.duration, before.duration)
})

inBothProducts('in production capture() does nothing', async (t, build) => {
  const app = await build((app) => app.get('/', async (request) => {
    request.hindsight.capture(new Error('caught'))
    return 'fine'
  }), { debug: false, profiler: false })
  const { statusCode, headers } = await app.inject('/')
  t.equal(statusCode, 200)
  t.equal(headers['x-debug-token'], undefined)
})

inBothProducts('in production with profiles of failures only, a captured error makes the request a failure', async (t, build) => {
  let kept: FastifyRequest | undefined
  const app = await build((app: FastifyInstance) => {
    app.get('/captured', async (request) => { request.hindsight.capture(new Error('caught')); return 'fine' })
    app.get('/late', async (request) => { kept = request; return 'fine' })
    app.get('/plain', async () => 'fine')
  }, { debug: false, profiler: { production: true, onlyExceptions: true } })
  for (const url of ['/captured', '/late', '/plain']) t.equal((await app.inject(url)).body, 'fine')
  kept?.hindsight.capture(new Error('late'))
  await app.hindsight.profiler.flush()
  const { profiles } = await app.hindsight.profiler.search({ limit: 5 })
  t.same(profiles.map(({ exception, status }) => [exception, status]), [['Error: late', 200], ['Error: caught', 200]])
})
