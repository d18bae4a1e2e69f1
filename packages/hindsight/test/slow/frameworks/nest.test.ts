import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ExternalContextCreator } from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { ConsoleLogger } from '@nestjs/common'
import type { FastifyInstance } from 'fastify'
import type { InjectOptions } from 'light-my-request'
import t from 'tap'
import { HindsightLogger } from '../../../src/nest.js'
import { application, start } from './nest-application.js'
import { testdir } from '../../support/folder.js'
import { listen, profileOf, raw } from '../../support/app.js'

const HTML = { accept: 'text/html' }
const JSON_BODY = { 'content-type': 'application/json' }
const DEBUG_HEADERS = ['x-debug-token', 'x-debug-token-link', 'date']

interface Case {
  url: string
  status: number
  exceptions: string[]
  controller?: string
  method?: 'GET' | 'POST'
  /** Whether the method of the controller was called. */
  threw?: boolean
}

const FIND = 'CatsController.findOne'
/** Answered by Nest itself. */
const FAILURES: Case[] = [
  { url: '/cats/0', status: 500, exceptions: ['The box is open', 'The cat is not in the box'], controller: FIND, threw: true },
  { url: '/cats/x', status: 400, exceptions: ['Validation failed (numeric string is expected)'], controller: FIND },
  { url: '/cats/secret', status: 403, exceptions: ['Forbidden resource'], controller: 'CatsController.secret' },
  { url: '/cats/mine', status: 401, exceptions: ['Who are you?'], controller: 'CatsController.mine' },
  { url: '/cats/text', status: 403, exceptions: ['Not for you'], controller: 'CatsController.text', threw: true },
  { url: '/cats/details', status: 400, exceptions: ['Bad Request Exception'], controller: 'CatsController.details', threw: true },
  {
    url: '/cats/gateway',
    status: 502,
    exceptions: ['The socket was closed', 'No answer'],
    controller: 'CatsController.gateway',
    threw: true
  },
  { url: '/cats/teapot', status: 418, exceptions: ['I am a teapot'], controller: 'CatsController.teapot', threw: true },
  { url: '/cats/string', status: 500, exceptions: ['only text'], controller: 'CatsController.string' },
  {
    url: '/nope',
    status: 404,
    exceptions: ['No route found for "GET http://localhost/nope"']
  },
  {
    method: 'POST',
    url: '/cats',
    status: 400,
    exceptions: ["Body is not valid JSON but content-type is set to 'application/json'"]
  }
]

function sent ({ method = 'GET', url }: Case, headers: Record<string, string> = {}): InjectOptions {
  if (method === 'POST') return { method, url, headers: { ...JSON_BODY, ...headers }, payload: '{' }
  return { method, url, headers }
}

async function answerOf (app: FastifyInstance, request: InjectOptions): Promise<object> {
  const { statusCode, headers, body } = await app.inject(request)
  return { statusCode, headers: Object.entries(headers).filter(([name]) => !DEBUG_HEADERS.includes(name)), body }
}

t.test('a profile has the exceptions and the controller; requests that prefer HTML receive the page', async (t) => {
  const { AppModule, PlainModule } = await application(t)
  const { fastify } = await start(t, AppModule)
  const { fastify: plain } = await start(t, PlainModule, { options: null })
  for (const one of FAILURES) {
    const { url, status, exceptions, controller, threw = false } = one
    t.same(await answerOf(fastify, sent(one)), await answerOf(plain, sent(one)), url)
    const page = await fastify.inject(sent(one, HTML))
    t.match(page, { statusCode: status, headers: { 'content-type': 'text/html; charset=utf-8' } }, url)
    if (controller !== undefined) {
      t.match(page.body, `handled by <code>${controller}</code>`, url)
      const [, sentence] = /<p class="what">([^]*?)<\/p>/.exec(page.body) ?? []
      const route = url === '/cats/0' || url === '/cats/x' ? 'GET /cats/:id' : `GET ${url}`
      const place = new RegExp(`^The handler of ${route} failed with \\w+(?:;.*)?\\.$`)
      t.match(sentence, threw ? place : new RegExp(`^${route} failed with .*\\.$`), url)
    }
    if (url === '/nope') {
      t.match(page.body, /<h2>Routes<\/h2>[^]*\/cats\/:id/)
      t.notMatch(page.body, /app\.get\(/, 'controllers have the routes')
      t.notMatch(/<ul class="routes">[^]*?<\/ul>/.exec(page.body)?.[0], 'fastify-adapter', 'and the line of the adapter is that of all')
      const routes = await fastify.inject({ url: '/_profiler/routes', headers: { accept: 'text/html' } })
      t.match(routes.body, '/cats/:id<div>@nestjs/platform-fastify</div>')
    }
    const profile = await profileOf(fastify, page)
    t.same(profile.exceptions.map(({ message }) => message), exceptions, url)
    t.equal(profile.collectors.otherErrors, undefined, url)
    t.equal(profile.route?.controller, controller, url)
    if (controller !== undefined) t.equal(profile.route?.handler, undefined, 'Nest declares the routes of controllers')
  }
})

t.test('a successful request has its controller, and headers of its method are attributed to it', async (t) => {
  const { AppModule, PlainModule } = await application(t)
  const { fastify } = await start(t, AppModule)
  const { fastify: plain } = await start(t, PlainModule, { options: null })
  const request = sent({ url: '/cats/7', status: 200, exceptions: [] })
  t.same(await answerOf(fastify, request), await answerOf(plain, request))
  const { route, exceptions, collectors, token } = await profileOf(fastify, await fastify.inject(request))
  t.match(route, { name: 'GET /cats/:id', controller: FIND })
  t.same(exceptions, [])
  const { changes } = collectors.headers as { changes: Array<{ name: string, source?: string }> }
  t.match(changes.find(({ name }) => name === 'x-cat'), { by: 'handler' })
  t.match((await fastify.inject(`/_profiler/${token}.md`)).body, 'handled by `CatsController.findOne`')
  t.match((await fastify.inject({ url: `/_profiler/${token}?panel=router`, headers: HTML })).body, FIND)
})

t.test('answers of exception filters are unchanged, and the profile has the exception', async (t) => {
  const { AppModule, LoginFilter } = await application(t)
  const { fastify } = await start(t, AppModule, { prepare: (app) => app.useGlobalFilters(new LoginFilter()) })
  for (const [url, status, body, message] of [
    ['/cats/own', 200, { handled: 'answered by the application' }, 'answered by the application'],
    ['/cats/mine', 401, { login: '/login' }, 'Who are you?']
  ] as const) {
    const response = await fastify.inject({ url, headers: HTML })
    t.match(response, { statusCode: status, headers: { 'content-type': 'application/json; charset=utf-8' } }, url)
    t.same(response.json(), body)
    const { exceptions } = await profileOf(fastify, response)
    t.same(exceptions.map((exception) => exception.message), [message])
    t.ok(exceptions[0]?.frames[0]?.own)
  }
  const found = await fastify.inject('/_profiler/search.json?exception=OwnError')
  t.match(found.json(), { profiles: [{ status: 200, error: true }] })
})

t.test('a body that a hook of the application has changed is not replaced', async (t) => {
  const { AppModule } = await application(t)
  async function envelope (_request: unknown, _reply: unknown, payload: unknown): Promise<string> {
    return `{"enveloped":${String(payload)}}`
  }
  const { fastify } = await start(t, AppModule, {
    prepare: (app) => app.getHttpAdapter().getInstance().addHook('onSend', envelope as never)
  })
  const response = await fastify.inject({ url: '/cats/text', headers: HTML })
  t.equal(response.json<{ enveloped: { message: string } }>().enveloped.message, 'Not for you')
})

t.test('an error of a middleware is in the profile, and Nest sends the answer without Fastify', async (t) => {
  const { AppModule, PlainModule } = await application(t)
  const { fastify } = await start(t, AppModule)
  const { fastify: plain } = await start(t, PlainModule, { options: null })
  const request = sent({ url: '/cats/middleware', status: 500, exceptions: [] }, HTML)
  t.same(await answerOf(fastify, request), await answerOf(plain, request))
  const { headers } = await fastify.inject('/_profiler/latest')
  const profile = await fastify.inject({ url: String(headers.location), headers: { accept: 'application/json' } })
  t.match(profile.json(), { status: 500, exceptions: [{ message: 'thrown by a middleware' }] })
})

t.test('lines of Nest\'s logger are in the profile of their request, and are written as before', async (t) => {
  const { AppModule, PlainModule } = await application(t)
  const lines: unknown[][] = []
  const format = { colors: false, forceConsole: true }
  for (const [module, options] of [[AppModule, {}], [PlainModule, null]] as const) {
    const logger = options === null ? new ConsoleLogger(format) : new HindsightLogger(format)
    const { fastify } = await start(t, module, { options, logger })
    const written = [t.capture(console, 'log'), t.capture(console, 'error')]
    const [found, lost] = [await fastify.inject('/cats/7'), await fastify.inject('/cats/0')]
    lines.push(written.flatMap((console) => {
      console.restore()
      return console().map(({ args }) => String(args[0]).replace(/^.*?(?= (?:LOG|ERROR) )/, '').replace(/\n +at [^]*$/, ''))
    }))
    if (options === null) continue
    const logsOf = async (response: typeof found): Promise<unknown> => {
      const { logs } = await profileOf(fastify, response)
      return logs.filter(({ channel }) => channel !== 'request')
    }
    t.match(await logsOf(found), [{ level: 'info', channel: 'CatsService', message: 'Looking for cat 7' }])
    t.match(await logsOf(lost), [
      { channel: 'CatsService', message: 'Looking for cat 0' },
      {
        level: 'error',
        channel: 'ExceptionsHandler',
        message: 'Error: The cat is not in the box',
        context: { stack: /CatsService\.find/ }
      }
    ])
  }
  t.same(lines[0], lines[1])
  t.equal(lines[0]?.length, 3)
})

t.test('in production the answers are the same as without the plugin', async (t) => {
  const { AppModule, PlainModule } = await application(t)
  const { fastify } = await start(t, AppModule, { options: { debug: false } })
  const { fastify: plain } = await start(t, PlainModule, { options: null })
  const successes = ['/cats/7', '/cats/own'].map((url) => ({ url, status: 200, exceptions: [] }))
  for (const one of [...FAILURES, ...successes]) {
    for (const headers of [{}, HTML]) {
      t.same(await answerOf(fastify, sent(one, headers)), await answerOf(plain, sent(one, headers)), one.url)
    }
    t.equal((await fastify.inject(sent(one))).headers['x-debug-token'], undefined)
  }
})

t.test('errors of controllers are profiled in production, where requests are', async (t) => {
  const { AppModule } = await application(t)
  const profiler = { storage: 'memory', production: true, onlyExceptions: true } as const
  const { fastify } = await start(t, AppModule, { options: { debug: false, profiler } })
  await fastify.inject('/cats/0')
  await fastify.inject('/cats/7')
  const { profiles } = await fastify.hindsight.profiler.search({ limit: 5 })
  t.match(profiles, [{ status: 500, exception: 'Error: The box is open' }])
  t.equal(profiles.length, 1)
})

t.test('without the plugin the module does not change any answer', async (t) => {
  const { AppModule, PlainModule } = await application(t)
  const { fastify } = await start(t, AppModule, { options: null })
  const { fastify: plain } = await start(t, PlainModule, { options: null })
  for (const one of FAILURES) {
    t.same(await answerOf(fastify, sent(one, HTML)), await answerOf(plain, sent(one, HTML)), one.url)
  }
})

t.test('the plugin may be registered on the application, too', async (t) => {
  const { AppModule } = await application(t)
  const { fastify } = await start(t, AppModule, { late: true })
  const page = await fastify.inject({ url: '/cats/0', headers: HTML })
  t.match(page.headers, { 'content-type': 'text/html; charset=utf-8' })
  const { route, exceptions } = await profileOf(fastify, page)
  t.equal(route?.controller, FIND)
  t.equal(exceptions[0]?.message, 'The box is open')
})

t.test('an adapter may have another copy of Fastify', async (t) => {
  const { AppModule } = await application(t)
  const copy = join(testdir(t), 'fastify')
  const installed = join(import.meta.dirname, '../../../../../node_modules/fastify')
  for (const part of ['fastify.js', 'package.json', 'lib']) {
    cpSync(join(installed, part), join(copy, part), { recursive: true })
  }
  const { fastify: create } = await import(pathToFileURL(join(copy, 'fastify.js')).href) as { fastify: () => never }
  const { fastify } = await start(t, AppModule, { adapter: new FastifyAdapter(create()) })
  const page = await fastify.inject({ url: '/cats/0', headers: HTML })
  t.match(page.headers, { 'content-type': 'text/html; charset=utf-8' })
  const { exceptions } = await profileOf(fastify, page)
  t.same(exceptions.map(({ message }) => message), ['The box is open', 'The cat is not in the box'])
})

t.test('requests on one connection have separate exceptions', async (t) => {
  const { AppModule } = await application(t)
  const { fastify } = await start(t, AppModule, { logger: new HindsightLogger() })
  const port = await listen(fastify)
  const base = `http://127.0.0.1:${port}`
  const agentless = { headers: { ...HTML, connection: 'keep-alive' } }
  const first = await fetch(`${base}/cats/7`, agentless)
  await first.text()
  const broken = await fetch(`${base}/cats`, { method: 'POST', body: '{', headers: { ...HTML, ...JSON_BODY } })
  t.equal(broken.status, 400)
  t.match(await broken.text(), 'Body is not valid JSON')
  t.equal(broken.headers.get('content-type'), 'text/html; charset=utf-8', 'the parser runs outside of the context')
  const second = await fetch(`${base}/cats/0`, agentless)
  t.match(await second.text(), 'The cat is not in the box')
  const { exceptions } = await profileOf(fastify, { headers: Object.fromEntries(first.headers) })
  t.same(exceptions, [])
  const answer = await raw(port, 'GET /cats/secret HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\r\n')
  t.equal(answer?.text, '{"message":"Forbidden resource","error":"Forbidden","statusCode":403}')
})

t.test('errors in contexts other than HTTP are unchanged', async (t) => {
  const { AppModule } = await application(t)
  const { app } = await start(t, AppModule)
  const resolver = { field () { throw new Error('in a resolver') } }
  const all = { guards: true, interceptors: true, filters: true }
  for (const type of ['graphql', 'rpc', 'ws']) {
    const none = undefined
    const creator = app.get(ExternalContextCreator)
    const call = creator.create(resolver, resolver.field, 'field', none, none, none, none, all, type)
    await t.rejects(call({}, {}, {}, {}), { message: 'in a resolver' }, type)
  }
})
