import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { FastifyInstance } from 'fastify'
import { lifecycle } from '../app/lifecycle.js'
import { HOOK_OF_STAGE, type Stage } from '../lib/stages.js'
import type { Outcome } from '../packages/hindsight/src/recording/events.js'
import type { Profile } from '../packages/hindsight/src/store/profile.js'
import { build, listen, profileOf, ran, raw, type BuildOptions } from '../packages/hindsight/test/support/app.js'

const STAGES = Object.keys(HOOK_OF_STAGE) as Stage[]

interface ObservedOrder {
  stages: Record<string, string>
  names: Record<string, string>
}

const observed = JSON.parse(readFileSync(join(import.meta.dirname, 'fixtures/observed-order.json'), 'utf8')) as ObservedOrder

t.test('the lifecycle table has the observed order', async (t) => {
  const wanted = Object.entries(observed.stages).map(
    ([stage, words]) => [stage, words.split('; ').map((word) => observed.names[word] ?? `no name for "${word}"`)]
  )
  const table = Object.entries(lifecycle).map(([stage, listeners]) => [stage, listeners.map(({ listener }) => listener)])
  t.strictSame(table, wanted)
  t.strictSame(Object.keys(lifecycle), [...STAGES])
  for (const [stage, listeners] of Object.entries(lifecycle)) {
    for (const entry of listeners) t.equal(entry.stage, stage, `${entry.listener} stands in its own stage`)
  }
  const words = new Set(Object.values(observed.stages).flatMap((line) => line.split('; ')))
  t.strictSame(Object.keys(observed.names).filter((word) => !words.has(word)), [], 'each word with a name is one of the document')
})

t.test('each listener is registered at its place, with a hook or a reason', async (t) => {
  const app = await build()
  t.teardown(() => app.close())
  const table = Object.entries(lifecycle).flatMap(([stage, listeners]) => listeners.map(({ listener }) => `${stage} ${listener}`))
  t.strictSame(app.service.slots.map(({ stage, listener }) => `${stage} ${listener}`), table)
  for (const { stage, listener, run, reason } of app.service.slots) {
    t.equal(run === null, reason !== null, `${stage} ${listener}: ${reason ?? 'has a hook'}`)
  }
})

/** The lines of whole stages, or of one up to a listener. */
function walk (pass: 'main' | 'error', stages: readonly Stage[], last?: string): string[] {
  const lines = stages.flatMap((stage) => lifecycle[stage].map(({ listener }) => `${pass} ${stage} ${listener}`))
  return last === undefined ? lines : lines.slice(0, lines.findLastIndex((line) => line.endsWith(` ${last}`)) + 1)
}

const BEFORE_HANDLER = ['kernel.request', 'kernel.controller', 'kernel.controller_arguments'] as const
const RESPONSE = ['kernel.response', 'kernel.finish_request'] as const
const REQUEST = walk('main', ['kernel.request'])
const TO_HANDLER = walk('main', BEFORE_HANDLER)
const SUCCESS = walk('main', STAGES)
const ERROR_PASS = walk('error', ['kernel.controller', 'kernel.controller_arguments', 'kernel.response', 'kernel.finish_request'])
const ANSWER = walk('main', RESPONSE)

interface Case {
  name: string
  method?: string
  url: string
  headers?: Record<string, string>
  body?: string
  options?: BuildOptions
  status: number
  events: string[]
  /** What the last listener of the main pass that is none of the response did, or the one that is named. */
  outcome: Outcome
  at: string
  /** The message of the error that the profile is about. */
  message?: string
}

const failing = new Error('the origins cannot be read')

function declare (app: FastifyInstance): void {
  app.get('/', async () => ({ fine: true }))
  app.get('/stream', async (_request, reply) => reply.type('text/plain').send(Buffer.from('whole')))
  app.post('/articles', async () => ({ fine: true }))
  app.get('/slashed/', async () => ({ fine: true }))
  app.get('/redirect', async (_request, reply) => reply.redirect('/', 302))
  app.get('/empty', async (_request, reply) => reply.code(204).send())
  app.get('/cross', async () => ({ fine: true }))
  app.get('/boom', async () => { throw new Error('boom') })
  app.get('/boom-sync', () => { throw new Error('boom at once') })
  app.get('/session', async (request) => {
    Object.assign(request.session, { seen: true })
    return { fine: true }
  })
  app.post('/typed', { schema: { body: { type: 'object', required: ['name'] } } }, async () => ({ fine: true }))
  const fail = async (): Promise<never> => { throw new Error('the hook fails') }
  app.get('/onRequest', { onRequest: fail }, async () => ({ fine: true }))
  app.get('/preParsing', { preParsing: fail }, async () => ({ fine: true }))
  app.get('/preValidation', { preValidation: fail }, async () => ({ fine: true }))
  app.get('/preHandler', { preHandler: fail }, async () => ({ fine: true }))
  app.get('/preSerialization', { preSerialization: fail }, async () => ({ fine: true }))
  app.get('/onSend', { onSend: fail }, async () => ({ fine: true }))
}

const CORS: BuildOptions = { cors: [{ path: '/cross', origin: 'https://friend.example' }] }
const BROKEN_CORS: BuildOptions = { cors: [{ path: '/cross', origin: (_origin, done) => done(failing, false) }] }
const BROKEN_STORE: BuildOptions = {
  session: {
    secret: 'a secret of the tests, thirty-two characters and more',
    store: {
      get: (_id, done) => done(null, null),
      set: (_id, _session, done) => done(new Error('the store is full')),
      destroy: (_id, done) => done(null)
    }
  }
}
const PREFLIGHT = { origin: 'https://friend.example', 'access-control-request-method': 'GET' }

const cases: Case[] = [
  { name: 'success', url: '/', status: 200, events: SUCCESS, outcome: 'ran', at: 'kernel.request router' },
  { name: 'success, HEAD', method: 'HEAD', url: '/', status: 200, events: SUCCESS, outcome: 'ran', at: 'kernel.request router' },
  { name: 'success, bytes', url: '/stream', status: 200, events: SUCCESS, outcome: 'ran', at: 'kernel.request router' },
  { name: 'a redirect by the handler', url: '/redirect', status: 302, events: SUCCESS, outcome: 'ran', at: 'kernel.request router' },
  { name: 'no content', url: '/empty', status: 204, events: SUCCESS, outcome: 'ran', at: 'kernel.request router' },
  {
    name: 'no route',
    url: '/robots.txt',
    status: 404,
    events: [...walk('main', ['kernel.request'], 'router'), ...ERROR_PASS],
    outcome: 'raised',
    at: 'kernel.request router',
    message: 'No route found for "GET http://localhost/robots.txt"'
  },
  {
    name: 'method not allowed',
    method: 'DELETE',
    url: '/articles',
    status: 405,
    events: [...walk('main', ['kernel.request'], 'router'), ...ERROR_PASS],
    outcome: 'raised',
    at: 'kernel.request router',
    message: 'No route found for "DELETE http://localhost/articles": Method Not Allowed (Allow: POST)'
  },
  {
    name: 'refused by request validation: a host',
    url: '/',
    headers: { host: 'a<b>' },
    // By default a client of an invalid host receives no debug data.
    options: { debugHosts: ['*'] },
    status: 400,
    events: [...walk('main', ['kernel.request'], 'request-validation'), ...ERROR_PASS],
    outcome: 'raised',
    at: 'kernel.request request-validation',
    message: 'Invalid Host "a<b>".'
  },
  {
    name: 'refused by request validation: a URL that cannot be decoded',
    url: '/%FF',
    status: 400,
    events: [...walk('main', ['kernel.request'], 'request-validation'), ...ERROR_PASS],
    outcome: 'raised',
    at: 'kernel.request request-validation',
    message: 'Invalid URL "/%FF": its percent-encoding cannot be decoded as UTF-8.'
  },
  {
    name: 'handler rejects',
    url: '/boom',
    status: 500,
    events: [
      ...TO_HANDLER, ...ERROR_PASS
    ],
    outcome: 'skipped',
    at: 'kernel.controller_arguments is-granted',
    message: 'boom'
  },
  {
    name: 'handler throws',
    url: '/boom-sync',
    status: 500,
    events: [
      ...TO_HANDLER, ...ERROR_PASS
    ],
    outcome: 'skipped',
    at: 'kernel.controller_arguments is-granted',
    message: 'boom at once'
  },
  {
    name: 'preflight',
    method: 'OPTIONS',
    url: '/cross',
    headers: PREFLIGHT,
    options: CORS,
    status: 200,
    events: [...walk('main', ['kernel.request'], 'cors'), ...ANSWER],
    outcome: 'answered',
    at: 'kernel.request cors'
  },
  {
    name: 'trailing-slash redirect',
    url: '/slashed?a=1',
    status: 301,
    events: [...walk('main', ['kernel.request'], 'router'), ...ANSWER],
    outcome: 'answered',
    at: 'kernel.request router'
  },
  {
    name: 'the first listener of the response throws, in both passes',
    url: '/cross',
    headers: { origin: 'https://friend.example' },
    options: BROKEN_CORS,
    status: 500,
    events: [...TO_HANDLER, 'main kernel.response cors', ...ERROR_PASS],
    outcome: 'raised',
    at: 'kernel.response cors',
    message: failing.message
  },
  {
    name: 'the last listener of the response throws, in both passes',
    url: '/session',
    options: BROKEN_STORE,
    status: 503,
    events: [...TO_HANDLER, ...walk('main', ['kernel.response']), ...ERROR_PASS],
    outcome: 'raised',
    at: 'kernel.response session',
    message: 'The session store failed: the store is full'
  },
  {
    name: 'the first listener of the response throws where no route is',
    url: '/cross/none',
    headers: { origin: 'https://friend.example' },
    options: BROKEN_CORS,
    status: 404,
    events: [...walk('main', ['kernel.request'], 'router'), ...ERROR_PASS],
    outcome: 'raised',
    at: 'kernel.request router',
    message: 'No route found for "GET http://localhost/cross/none"'
  },
  {
    name: 'the body does not fit its schema',
    method: 'POST',
    url: '/typed',
    headers: { 'content-type': 'application/json' },
    body: '{}',
    status: 400,
    events: [...REQUEST, ...ERROR_PASS],
    outcome: 'skipped',
    at: 'kernel.request pagination',
    message: "body must have required property 'name'"
  },
  ...(['onRequest', 'preParsing', 'preValidation'] as const).map((hook): Case => ({
    name: `the user's ${hook} throws`,
    url: `/${hook}`,
    status: 500,
    events: [
      ...REQUEST, ...ERROR_PASS
    ],
    outcome: 'skipped',
    at: 'kernel.request pagination',
    message: 'the hook fails'
  })),
  ...(['preHandler', 'preSerialization'] as const).map((hook): Case => ({
    name: `the user's ${hook} throws`,
    url: `/${hook}`,
    status: 500,
    events: [
      ...TO_HANDLER, ...ERROR_PASS
    ],
    outcome: 'skipped',
    at: 'kernel.controller_arguments is-granted',
    message: 'the hook fails'
  })),
  {
    name: "the user's onSend throws",
    url: '/onSend',
    status: 500,
    events: [...SUCCESS, ...ERROR_PASS],
    outcome: 'skipped',
    at: 'kernel.finish_request locale-aware-services',
    message: 'the hook fails'
  }
]

function check (t: Test, profile: Profile, { events, status, outcome, at, message }: Case, answered: number | undefined): void {
  t.equal(answered, status)
  t.equal(profile.status, status)
  t.strictSame(ran(profile.events), events)
  t.equal(profile.events.find(({ pass, stage, listener }) => pass === 'main' && `${stage} ${listener}` === at)?.outcome, outcome, `${at} ${outcome}`)
  const raisers = profile.events.filter(
    ({ pass, stage, outcome }) => pass === 'main' && stage.startsWith('kernel.') && (outcome === 'raised' || outcome === 'answered')
  ).map(({ stage, listener }) => `${stage} ${listener}`)
  t.strictSame(raisers, outcome === 'raised' || outcome === 'answered' ? [at] : [], 'no other listener ended the pass')
  t.equal(profile.exceptions.at(-1)?.message, message)
}

t.test('the listeners run in the order of the table', async (t) => {
  for (const one of cases) {
    const { name, method = 'GET', url, headers = {}, body, options } = one
    await t.test(`${name}: over inject`, async (t) => {
      const app = await build({ ...options, declare })
      t.teardown(() => app.close())
      for (let i = 0; i < 2; i++) {
        const response = await app.inject(
          { method: method as 'GET', url, headers: { host: 'localhost', ...headers }, ...(body !== undefined && { payload: body }) }
        )
        check(t, await profileOf(app, response), one, response.statusCode)
      }
    })
    await t.test(`${name}: over a socket`, async (t) => {
      const app = await build({ ...options, declare })
      t.teardown(() => app.close())
      const fields = Object.entries({ host: 'localhost', ...headers, ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }) })
      const response = await raw(
        await listen(app), `${method} ${url} HTTP/1.1\r\n${fields.map(([field, value]) => `${field}: ${value}\r\n`).join('')}\r\n${body ?? ''}`
      )
      check(t, await profileOf(app, response), one, response?.status)
    })
  }
})

t.test('a message that the parser refuses runs no listener', async (t) => {
  const app = await build({ declare })
  t.teardown(() => app.close())
  const port = await listen(app)
  const messages: Array<[name: string, bytes: string, status: number]> = [
    ['a header without a colon', 'GET / HTTP/1.1\r\nHost: localhost\r\nBad\r\n\r\n', 400],
    ['no message at all', '\x16\x03\x01\x02\x00', 400],
    ['an unknown method', 'BREW /pot HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
    ['an unknown version', 'GET / HTTP/3.7\r\nHost: localhost\r\n\r\n', 400],
    ['a length that is none', 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: abc\r\n\r\n', 400],
    ['too large a header section', `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`, 431]
  ]
  for (const [name, bytes, status] of messages) {
    await t.test(name, async (t) => {
      const response = await raw(port, bytes)
      t.equal(response?.status, status)
      t.equal(response?.headers.connection, 'close')
      const { profiler } = app.hindsight
      const profile = await profiler.find((await profiler.latest())?.token ?? '')
      t.match(profile, { status, route: null, events: [] })
      t.ok((profile?.exceptions.length ?? 0) > 0)
    })
  }
})

t.test('invalid messages that only a socket can send are refused by request validation', async (t) => {
  const app = await build({ declare })
  t.teardown(() => app.close())
  const port = await listen(app)
  const messages: Array<[name: string, bytes: string, status: number, message: string]> = [
    ['two hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400, 'Invalid Host "a, b".'],
    ['the same host twice', 'GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n', 400, 'Invalid Host "a, a".'],
    ['HTTP/0.9', 'GET /\r\n\r\n', 400, 'HTTP/0.9 is not supported on this connection; use HTTP/1.1.'],
    ['HTTP/2.0', 'GET / HTTP/2.0\r\nHost: a\r\n\r\n', 400, 'HTTP/2.0 is not supported on this connection; use HTTP/1.1.']
  ]
  for (const [name, bytes, status, message] of messages) {
    await t.test(name, async (t) => {
      const response = await raw(port, bytes)
      t.equal(response?.status, status)
      const { profiler } = app.hindsight
      const profile = await profiler.find((await profiler.latest())?.token ?? '') as Profile
      t.strictSame(ran(profile.events), [...walk('main', ['kernel.request'], 'request-validation'), ...ERROR_PASS])
      t.equal(profile.exceptions.at(-1)?.message, message)
    })
  }
})

t.test('a request after a failed one runs the complete order', async (t) => {
  const app = await build({ ...BROKEN_STORE, declare })
  t.teardown(() => app.close())
  for (const url of ['/boom', '/session', '/onSend', '/nowhere']) {
    t.ok((await app.inject(url)).statusCode >= 400, url)
    const response = await app.inject('/')
    t.strictSame(ran((await profileOf(app, response)).events), SUCCESS)
  }
})

t.test('production runs the same order', async (t) => {
  const debug = await build({ ...CORS, declare })
  const production = await build({ ...CORS, debug: false, declare })
  t.teardown(() => Promise.all([debug.close(), production.close()]))

  for (const [mode, app] of [['debug', debug], ['production', production]] as const) {
    for (const hook of ['onRequest', 'preHandler', 'onSend'] as const) {
      const wanted = app.service.slots.filter(({ stage, run }) => HOOK_OF_STAGE[stage] === hook && run !== null).map(({ listener }) => listener)
      const routes = hooksOf(app, hook)
      t.ok(wanted.length === 0 || routes.length > 20, `${mode}: every route has hooks of ${hook}`)
      for (const names of routes) t.strictSame(names.filter((name) => wanted.includes(name)), wanted)
    }
    const names = app.service.slots.map(({ stage, listener }) => `${stage} ${listener}`)
    t.strictSame(names, debug.service.slots.map(({ stage, listener }) => `${stage} ${listener}`), `${mode}: all in their order`)
  }

  const DEBUG_ONLY = new Set(['x-debug-token', 'x-debug-token-link', 'x-debug-exception', 'x-debug-exception-file', 'x-robots-tag'])
  const withoutDebug = (headers: object): string[] => Object.keys(headers).filter((name) => !DEBUG_ONLY.has(name)).sort()
  const requests = cases.filter(({ options }) => options === undefined || options === CORS)
  for (const { name, method = 'GET', url, headers = {}, body } of requests) {
    const request = { method: method as 'GET', url, headers: { host: 'localhost', ...headers }, ...(body !== undefined && { payload: body }) }
    const [inDebug, inProduction] = [await debug.inject(request), await production.inject(request)]
    t.equal(inProduction.statusCode, inDebug.statusCode, `${name}: the same status`)
    t.strictSame(withoutDebug(inProduction.headers), withoutDebug(inDebug.headers), `${name}: the same headers`)
    t.strictSame(Object.keys(inProduction.headers).filter((header) => DEBUG_ONLY.has(header)), [], `${name}: nothing of debug mode`)
  }
})

t.test('production: an error in a listener of the response is answered once, with the short page', async (t) => {
  for (const [url, options, status, says] of [
    ['/cross', BROKEN_CORS, 500, 'An Error Occurred'], ['/session', BROKEN_STORE, 503, 'Service Unavailable']
  ] as const) {
    const app = await build({ ...options, debug: false, declare })
    t.teardown(() => app.close())
    const response = await raw(await listen(app), `GET ${url} HTTP/1.1\r\nHost: localhost\r\nOrigin: https://friend.example\r\n\r\n`)
    t.equal(response?.status, status)
    t.match(response?.text, says)
    t.notMatch(response?.text, /store is full|origins cannot/)
    t.equal(response?.headers['x-debug-token'], undefined)
  }
})

/** The names of the hooks of one kind, in the order in which Fastify runs them, for each route that has some. */
function hooksOf (app: FastifyInstance, hook: string): string[][] {
  const tree = app.printRoutes({ includeHooks: true, commonPrefix: false })
  const lines = [...tree.matchAll(new RegExp(`\\(${hook}\\) (\\[.*\\])`, 'g'))]
  return lines.map(([, names = '[]']) => (JSON.parse(names) as string[]).map((name) => name.replace(/\(\)$/, '')))
}
