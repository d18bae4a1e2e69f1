import { readdirSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Profile } from '../../src/store/profile.js'
import { profile } from '../parts/fixture.js'
import { build as buildFull, listen, refusal } from '../support/app.js'
import { testdir } from '../support/folder.js'
import { inBothProducts } from '../support/products.js'
import type { StoredUser } from '../../../../lib/security/users.js'
import { users } from '../../../../test/lib/security/support.js'

const html = { accept: 'text/html' }
/** The application as it runs in production. */
function declare (app: FastifyInstance): void {
  app.get('/ok', async (request) => {
    request.log.info('all is well')
    return { ok: true }
  })
  app.get('/boom/:id', async (request) => {
    request.log.info({ password: 'hunter2' }, 'about to fail')
    throw new Error('the inside story')
  })
  app.get('/unwell', async (request, reply) => {
    request.log.warn('not well')
    return reply.code(503).send({ ok: false })
  })
  app.post('/body', async () => { throw new Error('with a body') })
}

async function stored (app: FastifyInstance): Promise<Profile[]> {
  const { profiles } = await app.hindsight.profiler.search({ limit: 100 })
  return await Promise.all(profiles.map(async ({ token }) => await app.hindsight.profiler.find(token) as Profile))
}

inBothProducts('production profiles requests only if an option enables it', async (t, build) => {
  for (const option of [undefined, 'all', {}, { onlyExceptions: true }] as const) {
    const app = await build(undefined, { debug: false, ...(option !== undefined && { profiler: option }) })
    t.teardown(() => app.close())
    t.equal((app.hindsight.hasProfiles), false)
    t.notMatch((await app.inject({ url: '/nowhere', headers: html })).body, /Reference/)
  }
})

inBothProducts('profiles of production are kept where npm ci does not remove them, and git does not add them', async (t, build) => {
  const [folder, before] = [testdir(t), process.cwd()]
  process.chdir(folder)
  t.teardown(() => { process.chdir(before) })
  for (const [debug, place] of [[true, 'node_modules/.cache/hindsight'], [false, '.hindsight']] as const) {
    const app = await build(declare, { debug, profiler: { storage: 'sqlite', production: true } })
    await app.inject('/ok')
    t.match(await stored(app), [{ status: 200 }])
    await app.close()
    const files = readdirSync(join(folder, place))
    t.ok(['.gitignore', 'profiles.db'].every((name) => files.includes(name)), `${place}: ${files.join()}`)
  }
  t.same(readdirSync(folder).sort(), ['.hindsight', 'node_modules'])
})

inBothProducts('production: clients receive the token of a failure and nothing else', async (t, build, product) => {
  const app = await build(declare, { debug: false, profiler: 'errors' })
  t.equal((await app.inject('/ok')).statusCode, 200)
  const page = await app.inject({ url: '/boom/7?token=abc', headers: { ...html, authorization: 'Bearer s3cret', 'user-agent': 'me' } })
  t.equal(page.statusCode, 500)
  t.notMatch(page.body, product === 'service' ? /inside story|boom\.|Error: |production\.test/ : /boom\.|production\.test/)
  t.notOk(Object.keys(page.headers).some((name) => name.startsWith('x-debug')))
  const [profile, ...others] = await stored(app)
  t.same(others, [])
  if (product === 'service') t.match(page.body, `<p>Reference: <code>${profile?.token}</code></p>`)
  t.match(profile, {
    version: 1,
    method: 'GET',
    url: 'http://localhost/boom/7?token=******',
    status: 500,
    route: { pattern: '/boom/:id', params: { id: '7' } },
    exceptions: [{ name: 'Error', message: 'the inside story' }],
    collectors: {
      request: { headers: { authorization: 'Bearer ******', 'user-agent': 'me' } },
      response: { status: 500, headers: { 'content-type': product === 'service' ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8' } }
    }
  })
  t.ok(profile?.exceptions[0]?.frames.some(({ file, own }) => own && file.endsWith('production.test.ts')))
  t.ok((profile?.duration ?? 0) > 0)
  t.ok(Math.abs(Date.parse(profile?.time ?? '') - Date.now()) < 60_000)
  t.same(
    profile?.logs.filter(({ channel }) => channel === 'app').map(({ message, context }) => [message, context]), [['about to fail', { password: '******' }]]
  )
  t.same([...new Set(profile?.events.map(({ pass }) => pass))], product === 'service' ? ['error'] : [], 'the main pass is not recorded for who may not fail')
})

t.test('the answer to a failure has the format that the client accepts', async (t) => {
  const app = await buildFull(t, { debug: false, profiler: 'errors' }, declare)
  const problem = await app.inject({ url: '/boom/7', headers: { accept: 'application/problem+json' } })
  t.match(problem.headers['content-type'], /^application\/problem\+json/)
  t.match((await app.inject({ url: '/boom/7', headers: { accept: 'text/plain' } })).body, /Reference: [0-9a-f]{6}\n/)
  const tokens = (await stored(app)).map(({ token }) => token)
  t.same(problem.json(), { type: 'about:blank', title: 'Internal Server Error', status: 500, token: tokens[1] })
})

inBothProducts('a response with a server error is stored, even without an exception', async (t, build) => {
  const app = await build(declare, { debug: false, profiler: 'errors' })
  const answer = await app.inject('/unwell')
  t.same(answer.json(), { ok: false }, 'the response is unchanged')
  const [profile] = await stored(app)
  t.match(profile, { status: 503, exceptions: [], route: { pattern: '/unwell' }, collectors: { response: { status: 503, size: 12 } } })
  t.match(profile?.logs.filter(({ channel }) => channel === 'app'), [{ level: 'warn', message: 'not well' }])
})

inBothProducts('the body of a failure is stored masked', async (t, build) => {
  const app = await build(declare, { debug: false, profiler: 'errors' })
  await app.inject({ method: 'POST', url: '/body', payload: { name: 'x', password: 'hunter2' } })
  t.match((await stored(app))[0]?.collectors.request, { body: { name: 'x', password: '******' } })
})

inBothProducts('client errors are stored only if that is configured, and if the matcher selects them', async (t, build, product) => {
  const hasReference = async (app: FastifyInstance, url: string): Promise<boolean> => (await app.inject({ url, headers: html })).body.includes('Reference')
  const numberOf = async (app: FastifyInstance): Promise<number> => (await stored(app)).length
  const server = await build(declare, { debug: false, profiler: 'errors' })
  t.same([await hasReference(server, '/nowhere'), await numberOf(server)], [false, 0])
  const all = await build(declare, { debug: false, profiler: { production: true, onlyExceptions: true } })
  t.same([await hasReference(all, '/nowhere'), await numberOf(all)], [product === 'service', 1])
  const some = await build(
    declare, { debug: false, profiler: { production: true, onlyExceptions: true, matcher: (request) => request.routeOptions.url !== undefined } }
  )
  t.same([await hasReference(some, '/nowhere'), await numberOf(some)], [false, 0])
  t.same([await hasReference(some, '/boom/1'), await numberOf(some)], [product === 'service', 1])
})

inBothProducts('the profile of a request that the matcher selects is complete', async (t, build, product) => {
  const app = await build(declare, { debug: false, profiler: { production: true, errors: true, matcher: (request) => request.headers['x-profile'] === '1' } })
  const asked = await app.inject({ url: '/ok', headers: { 'x-profile': '1' } })
  t.same(asked.json(), { ok: true })
  t.notOk('x-debug-token' in asked.headers)
  await app.inject('/ok')
  await app.inject('/boom/1')
  const [failed, demanded, ...others] = await stored(app)
  t.same(others, [])
  t.equal(failed?.status, 500)
  t.equal(demanded?.status, 200)
  if (product === 'service') {
    t.match(demanded?.events.map(({ stage, listener }) => `${stage} ${listener}`), ['kernel.request debug-handlers', 'kernel.request content-security-policy'])
  }
  t.match(demanded?.logs.filter(({ channel }) => channel === 'app'), [{ message: 'all is well' }])
  t.match(demanded?.collectors, { request: { method: 'GET' }, response: { status: 200 }, performance: { handler: Number } })
})

inBothProducts('a request that is not selected adds nothing to the previous profile of its connection', async (t, build) => {
  const app = await build((app) => {
    app.post('/say/:name', async (request) => {
      const { name } = request.params as { name: string }
      app.log.info(`the application for ${name}`)
      request.log.child({ part: 'child' }).info(`a child for ${name}`)
      await new Promise((resolve) => setImmediate(resolve))
      app.log.info(`the application later for ${name}`)
      if (name === 'failing') throw new Error('as expected')
      return {}
    })
  }, { debug: false, profiler: { production: true, errors: true, matcher: (request) => request.headers['x-profile'] === '1' } })
  const port = await listen(app)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const post = (name: string, headers = {}) => new Promise<number>((resolve, reject) => {
    request({ port, agent, method: 'POST', path: `/say/${name}`, headers: { 'content-type': 'application/json', ...headers } }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    }).on('error', reject).end('{}')
  })
  t.equal(await post('demanded', { 'x-profile': '1' }), 200)
  t.equal(await post('nobody'), 200)
  t.equal(await post('failing'), 500)
  t.equal(await post('again', { 'x-profile': '1' }), 200)
  const said = (await stored(app)).map(({ logs }) => logs.filter(({ channel }) => channel === 'app').map(({ message }) => message))
  t.same(said, [
    ['the application for again', 'a child for again', 'the application later for again'],
    // Lines of the application's logger are not attributed to a request that is not selected.
    ['a child for failing'],
    ['the application for demanded', 'a child for demanded', 'the application later for demanded']
  ])
})

inBothProducts('with profiles of errors only, lines of a logger of the application are in no profile', async (t, build) => {
  let child: FastifyBaseLogger | undefined
  const app = await build((app) => {
    child = app.log.child({ part: 'worker' })
    app.get('/boom', async () => {
      child?.info('from a worker')
      throw new Error('as expected')
    })
  }, { debug: false, profiler: 'errors' })
  await app.inject('/boom')
  await app.inject('/boom')
  t.same(Object.getOwnPropertySymbols(child ?? {}).filter(({ description }) => description === 'hindsight.log'), [])
  t.same((await stored(app)).map(({ logs }) => logs.some(({ message }) => message === 'from a worker')), [false, false])
})

inBothProducts('a share of all requests is recorded from their beginning', async (t, build, product) => {
  const app = await build(declare, { debug: false, profiler: { production: true, sampling: 0.5 } })
  const lots = [0.2, 0.7, 0.4, 0.9]
  t.intercept(Math, 'random', { value: () => lots.shift() ?? 0 })
  for (let i = 0; i < 4; i++) await app.inject(`/ok?${i}`)
  t.same((await stored(app)).map(({ url, events }) => [url.slice(-1), events.length > 30]), [['2', product === 'service'], ['0', product === 'service']])
})

inBothProducts('requests that are not stored add nothing to other profiles', async (t, build) => {
  const app = await build(declare, { debug: false, profiler: 'errors' })
  await Promise.all(Array.from({ length: 50 }, async (_, i) => await app.inject(i % 2 ? `/boom/${i}` : `/ok?${i}`)))
  const profiles = await stored(app)
  t.equal(profiles.length, 25)
  for (const { url, logs, route } of profiles) {
    t.equal(logs.filter(({ message }) => message === 'about to fail').length, 1, url)
    t.notOk(logs.some(({ message }) => message === 'all is well'), url)
    t.equal(url.endsWith(`/${route?.params.id as string}`), true)
  }
})

const security = {
  firewalls: [{ name: 'main', authenticators: { basic: true } }],
  providers: { staff: users }
}
const basic = (name: string, password: string) => ({ authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` })

t.test('production has no pages, except for users with the role', async (t) => {
  const none = await buildFull(t, { debug: false, profiler: 'errors' }, declare)
  await none.inject('/boom/1')
  const [{ token } = { token: '' }] = await stored(none)
  for (const url of [
    '/_profiler/', `/_profiler/${token}`, `/_profiler/${token}.json`, '/_profiler/latest', '/_profiler/stream', `/_wdt/${token}`, '/_error/500'
  ]) t.equal((await none.inject(url)).statusCode, 404, url)

  const app = await buildFull(t, { debug: false, profiler: { production: true, onlyExceptions: true }, profilerRole: 'ROLE_ADMIN', security }, declare)
  await app.inject('/boom/1')
  const [kept] = await stored(app)
  for (const url of [
    '/_profiler/', `/_profiler/${kept?.token}`, `/_profiler/${kept?.token}.json`, '/_profiler/latest', '/_profiler/search?status=500', '/_profiler/stream?ip=x'
  ]) {
    t.equal((await app.inject(url)).statusCode, 401, url)
    t.equal((await app.inject({ url, headers: basic('bob', 'builder') })).statusCode, 403, url)
    t.notOk([401, 403, 404].includes((await app.inject({ url, headers: basic('ada', 'lovelace') })).statusCode), url)
  }
  t.match((await app.inject({ url: `/_profiler/${kept?.token}`, headers: { ...html, ...basic('ada', 'lovelace') } })).body, /the inside story/)
  for (const url of [`/_wdt/${kept?.token}`, '/_error/500']) t.equal((await app.inject({ url, headers: basic('ada', 'lovelace') })).statusCode, 404, url)
})

t.test('the form token of a page is valid for 12 hours, and only for the user of the page', async (t) => {
  const verify = (identifier: string): StoredUser => ({ identifier, roles: ['ROLE_ADMIN'] })
  const security = { firewalls: [{ name: 'all', authenticators: { bearer: { verify } } }] }
  const app = await buildFull(t, { debug: false, profiler: { production: true, storage: 'memory' }, profilerRole: 'ROLE_ADMIN', security }, declare)
  app.hindsight.profiler.save(profile('3fa94c'))
  const pageOf = async (user: string): Promise<string> => {
    const { body } = await app.inject({ url: '/_profiler/3fa94c', headers: { ...html, authorization: `Bearer ${user}` } })
    return /name="form_token" value="([^"]+)"/.exec(body)?.[1] ?? ''
  }
  const pin = async (formToken: string, user: string): Promise<[number, string]> => {
    const headers = { accept: 'application/json', authorization: `Bearer ${user}`, 'content-type': 'application/x-www-form-urlencoded' }
    const { statusCode, body } = await app.inject(
      { method: 'POST', url: '/_profiler/3fa94c/pin', headers, payload: new URLSearchParams({ form_token: formToken, pinned: '1' }).toString() }
    )
    return [statusCode, body]
  }
  const now = Date.now
  t.teardown(() => { Date.now = now })
  const token = await pageOf('ada')
  t.match(token, /./)
  t.same((await pin(token, 'ada'))[0], 303)
  t.same((await pin(token, 'bob'))[0], 403, 'of another user')
  t.same((await pin(await app.hindsight.profiler.formToken(), 'ada'))[0], 403, 'a token without a user')
  const loaded = now()
  Date.now = () => loaded + 11.9 * 3_600_000
  t.same((await pin(token, 'ada'))[0], 303)
  Date.now = () => loaded + 12.1 * 3_600_000
  t.same((await pin(token, 'ada'))[0], 403, 'too old')
  t.same((await pin(await pageOf('ada'), 'ada'))[0], 303)
})

t.test('a role that no user can have stops the start', async (t) => {
  t.equal(
    await refusal({ debug: false, profiler: { production: true }, profilerRole: 'ROLE_ADMIN' }),
    'profilerRole (PROFILER_ROLE) needs the option security, with a firewall for /_profiler: without it no user has a role'
  )
})
