import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { JSDOM } from 'jsdom'
import Fastify, { LogController, type FastifyInstance, type FastifyReply, type FastifyRequest, type RouteShorthandOptions } from 'fastify'
import { firstAppFrame } from '../src/errors/exception.js'
import { outcomeSentence } from '../src/parts/overview/index.js'
import type { Profile } from '../src/store/profile.js'
import { profileMarkdown, withoutMarks } from './support/marks.js'
import { eventOf, get, headerOf, listen, newest, profileOf, rawText as raw, statusOf } from './support/app.js'
import { inBothProducts } from './support/products.js'

type Exception = { name: string, message: string }
const later = () => new Promise(resolve => setTimeout(resolve, 5))
const lineOf = (name: string) => readFileSync(import.meta.filename, 'utf8').split('\n').findIndex((text) => text.endsWith(` // ${name}`)) + 1
const chainOf = (exceptions: Exception[]) => exceptions.map(({ name, message }) => `${name}: ${message}`)

async function outcomeOf (app: FastifyInstance, request: object): Promise<{ status: number, chain: string[] }> {
  const response = await app.inject(request)
  // Where Fastify writes its last answer without hooks, there is no token.
  const { exceptions } = 'x-debug-token' in response.headers ? await profileOf(app, response) : await newest(app)
  return { status: response.statusCode, chain: chainOf(exceptions) }
}

inBothProducts('any value that a handler throws is answered and recorded', async (t, build, product) => {
  const circular = new Error('around')
  circular.cause = circular
  const hostile = Object.defineProperties(new Error('never read'), {
    stack: { get () { throw new Error('no stack') } },
    message: { get () { throw new Error('no message') } },
    statusCode: { get () { throw new Error('no status') } },
    headers: { get () { throw new Error('no headers') } },
    cause: { get () { throw new Error('no cause') } },
    code: { get () { throw new Error('no code') } },
    name: { get () { throw new Error('no name') } }
  })
  const proxy = new Proxy({}, {
    get () { throw new Error('trap') },
    has () { throw new Error('trap') },
    ownKeys () { throw new Error('trap') },
    getPrototypeOf () { throw new Error('trap') }
  })
  const cases: Array<[string, unknown, number, string[] | null]> = [
    ['error', new TypeError('boom'), 500, ['TypeError: boom']],
    ['null', null, 500, ['Thrown null: null']],
    ['undefined', undefined, 500, ['Thrown undefined: undefined']],
    ['string', 'just text', 500, ['Thrown string: just text']],
    ['empty string', '', 500, ['Thrown string: ']],
    ['number', 42, 500, ['Thrown number: 42']],
    ['zero', 0, 500, ['Thrown number: 0']],
    ['false', false, 500, ['Thrown boolean: false']],
    // Without an error handler Fastify cannot send it.
    ['bigint', 7n, 500, product === 'service' ? ['Thrown bigint: 7n'] : ['TypeError: cb is not a function']],
    ['symbol', Symbol('mark'), 500, ['Thrown symbol: Symbol(mark)']],
    ['function', function thrown () {}, 500, ['Thrown function: [Function: thrown]']],
    ['object', { a: 1 }, 500, ['Thrown object: { a: 1 }']],
    ['object with a status', { statusCode: 418, message: 'teapot' }, 418, null],
    ['array', [1, 2], 500, null],
    ['cause', new Error('outer', { cause: new RangeError('inner') }), 500, ['RangeError: inner', 'Error: outer']],
    ['cause that is a string', new Error('outer', { cause: 'why' }), 500, ['Thrown string: why', 'Error: outer']],
    ['circular cause', circular, 500, ['Error: around']],
    ['aggregate', new AggregateError([new Error('one'), new TypeError('two')], 'both'), 500, ['AggregateError: both']],
    // Fastify has the status 200 while it reads the error.
    ['getters that throw', hostile, product === 'service' ? 500 : 200, null],
    ['a proxy that throws', proxy, product === 'service' ? 500 : 200, null],
    // Its serializer has failed for the log, and Fastify sends the error of that.
    ['frozen', Object.freeze(new Error('ice')), 500, product === 'service'
      ? ['Error: ice']
      : ['TypeError: Cannot add property Symbol(circular-ref-tag), object is not extensible']],
    ['no prototype', Object.assign(Object.create(null), { a: 1 }), 500, null]
  ]
  const app = await build(app => {
    for (const [i, [, value]] of cases.entries()) {
      app.get(`/${i}/sync`, () => { throw value })
      app.get(`/${i}/async`, async () => { throw value })
      app.get(`/${i}/later`, async () => { await later(); throw value })
    }
  })
  for (const [i, [name, , status, chain]] of cases.entries()) {
    for (const url of [`/${i}/sync`, `/${i}/async`, `/${i}/later`]) {
      const found = await outcomeOf(app, { url })
      t.equal(found.status, status, `${name} ${url}`)
      if (chain !== null) t.same(found.chain, chain, `${name} ${url}`)
      else t.equal(found.chain.length, 1, `${name} ${url}`)
      // With the package the page replaces a default answer with the error only.
      if (product === 'package' && ['null', 'undefined', 'bigint', 'symbol', 'function', 'getters that throw', 'a proxy that throws'].includes(name)) {
        continue
      }
      const page = await app.inject({ url, headers: { accept: 'text/html' } })
      t.same([page.statusCode, page.headers['content-type']], [status, 'text/html; charset=utf-8'], `${name} ${url}, as a page`)
      t.ok(page.body.includes('<h1'))
      const profile = await profileOf(app, page)
      t.equal(profile.status, status)
      if (product === 'package') continue
      t.same(profile.events.filter(({ pass }) => pass === 'error').map(({ stage }) => stage).filter((stage, i, all) => stage !== all[i - 1]),
        ['kernel.controller', 'kernel.controller_arguments', 'kernel.response', 'kernel.finish_request'], `${name} ${url}: one error pass`)
    }
  }
})

inBothProducts('each member of an AggregateError has its chain of causes', async (t, build) => {
  const app = await build(app => app.get('/', () => {
    throw new AggregateError([new Error('one', { cause: new Error('root of one') }), 'two'], 'both')
  }))
  const [exception] = (await profileOf(app, await app.inject('/'))).exceptions
  t.same(exception?.errors?.map(chainOf), [['Error: root of one', 'Error: one'], ['Thrown string: two']])
})

inBothProducts('the status and the headers of an error are sent if they are valid', async (t, build) => {
  const failing = (fields: object) => Object.assign(new Error('boom'), fields)
  const cases: Array<[string, Error, number, Record<string, string | undefined>]> = [
    ['statusCode', failing({ statusCode: 409 }), 409, {}],
    ['status', failing({ status: 422 }), 422, {}],
    ['statusCode before status', failing({ statusCode: 409, status: 422 }), 409, {}],
    ['headers', failing({ statusCode: 429, headers: { 'retry-after': '10', 'X-One': 'a' } }), 429, { 'retry-after': '10', 'x-one': 'a' }],
    ['a success', failing({ statusCode: 200 }), 500, {}],
    ['a redirect', failing({ statusCode: 302 }), 500, {}],
    ['out of range', failing({ statusCode: 700 }), 500, {}],
    ['text', failing({ statusCode: '404' }), 404, {}],
    ['NaN', failing({ statusCode: NaN }), 500, {}],
    ['fraction', failing({ statusCode: 404.5 }), 404, {}],
    ['unknown in the range', failing({ statusCode: 499 }), 499, {}],
    ['headers that are none', failing({ headers: 'x' }), 500, {}],
    ['headers that split', failing({ headers: { 'x-bad': 'a\r\nx-evil: 1' } }), 500, { 'x-evil': undefined }],
    ['headers of an odd name', failing({ headers: { 'bad name': 'x' } }), 500, {}]
  ]
  const app = await build(app => {
    for (const [i, [, value]] of cases.entries()) app.get(`/${i}`, () => { throw value })
  })
  const port = await listen(app)
  for (const [i, [name, , status, headers]] of cases.entries()) {
    const answer = await get(port, `/${i}`, { Accept: 'application/json' })
    t.equal(statusOf(answer), status, name)
    for (const [header, expected] of Object.entries(headers)) t.equal(headerOf(answer, header), expected, `${name}: ${header}`)
  }
})

inBothProducts('the status of an error is read as Fastify reads it', async (t, build) => {
  const STATUSES = [
    { statusCode: '429' }, { statusCode: 429 }, { status: '404' }, { statusCode: 'ENOENT', status: 409 }, { statusCode: '700' }, { status: 'error' }
  ]
  const fails = (app: FastifyInstance): void => {
    for (const [i, status] of STATUSES.entries()) app.get(`/${i}`, async () => { throw Object.assign(new Error('no'), status) })
  }
  const bare = Fastify()
  fails(bare)
  const app = await build(fails)
  for (const [i, status] of STATUSES.entries()) {
    const { statusCode } = await bare.inject(`/${i}`)
    for (const accept of ['text/html', 'application/json', 'text/markdown']) {
      const response = await app.inject({ url: `/${i}`, headers: { accept } })
      const profile = await profileOf(app, response)
      const given = profile.exceptions.at(-1)?.statusCode ?? 500
      t.same([response.statusCode, profile.status, given], [statusCode, statusCode, statusCode], `${JSON.stringify(status)} ${accept}`)
    }
  }
  await bare.close()
})

inBothProducts('what a failure says of its handler is true', async (t, build) => {
  const body = { type: 'object', required: ['a'] }
  const app = await build(async (app) => {
    app.post('/attached', { attachValidation: true, schema: { body } }, async ({ validationError }) => validationError)
    app.get('/key', { schema: { headers: { type: 'object', required: ['x-key'] } } }, async () => 'x')
    app.get('/slow', { handlerTimeout: 20 }, async () => await new Promise(() => {}))
    app.get('/serializer', async (_request, reply) => reply.serializer(() => { throw new Error('not serialized') }).send({}))
    await app.register(async (outer) => {
      outer.setErrorHandler(async (error: Error, _request, reply) => reply.code(502).send({ outer: error.message }))
      await outer.register(async (inner) => {
        inner.setErrorHandler((error: Error) => { throw new Error(`mapped: ${error.message}`, { cause: error }) })
        inner.get('/nested', async () => { throw new TypeError('deep') })
      })
    })
  })
  for (const [method, url, status, sentence, names] of [
    ['POST', '/attached', 400, /rejected the body; with attachValidation the request continued, and failed with that error\.$/, ['Error']],
    ['GET', '/key', 400, /rejected the headers; the handler did not run\.$/, ['Error']],
    ['GET', '/slow', 503, /^The handler of GET \/slow \(.+\) had not ended after its handlerTimeout, 20 ms\.$/, ['FastifyError']],
    ['GET', '/serializer', 500, /failed with Error\.$/, ['Error']],
    ['GET', '/nested', 502, /^The answer to an earlier failure of GET \/nested\b.* failed with Error\b/, ['TypeError', 'Error']]
  ] as const) {
    const response = await app.inject({ method, url, headers: { accept: 'text/html' }, ...method === 'POST' && { payload: {} } })
    const { exceptions, collectors } = await profileOf(app, response)
    t.equal(response.statusCode, status, url)
    t.match((collectors.exceptions as { summary: string }).summary, sentence, url)
    t.same(exceptions.map(({ name }) => name), names, url)
    if (url !== '/nested') t.match(response.headers['content-type'], 'text/html', url)
  }
})

inBothProducts('a hook of a not-found handler is named as what refuses another method of a path', async (t, build) => {
  const app = await build(async (app) => {
    await app.register(async (api) => {
      const gate = async (): Promise<void> => { throw Object.assign(new Error('no'), { statusCode: 403 }) }
      api.setNotFoundHandler({ preHandler: gate }, async () => 'x')
      api.get('/a', async () => 'a')
    }, { prefix: '/api' })
  })
  const profile = await profileOf(app, await app.inject({ method: 'POST', url: '/api/a', headers: { accept: 'text/html' } }))
  t.match(outcomeSentence(profile), /^Error: no \(packages\/hindsight\/test\/failures\.test\.ts:\d+\)\./)
  t.same(profile.collectors.blocked ?? [], [], 'the method is not the reason')
})

inBothProducts('a header that cannot be sent does not prevent the page', async (t, build, product) => {
  const app = await build(app => {
    app.get('/value', (_request, reply) => reply.header('x-bad', 'a\r\nx-evil: 1').send('x'))
    app.get('/name', async (_request, reply) => { reply.header('bad name', 'x'); return 'x' })
    app.get('/boom', (_request, reply) => { reply.header('x-bad', 'a\nb'); throw new Error('boom') })
    app.get('/late', (_request, reply) => { reply.header('x-late', 'yes'); return 'x' })
    app.addHook('onSend', async (_request, reply) => { if (reply.hasHeader('x-late')) reply.header('x-bad', 'a\nb') })
  })
  const port = await listen(app)
  for (const [path, message] of [
    ['/value', /Invalid character in header content/], ['/name', /Header name must be a valid HTTP token/],
    ['/boom', product === 'service' ? /boom/ : /Invalid character in header content/], ['/late', /Invalid character in header content/]
  ] as const) {
    const answer = await get(port, path, { Accept: 'text/html' })
    t.equal(statusOf(answer), 500, path)
    t.match(answer, message, path)
    t.equal(headerOf(answer, 'x-evil'), undefined)
    t.equal(headerOf(answer, 'x-bad'), undefined)
  }
})

inBothProducts('an error status that the reply has already is kept', async (t, build) => {
  const app = await build(app => {
    app.get('/conflict', (_request, reply) => { reply.code(409); throw new Error('boom') })
    app.get('/ok', (_request, reply) => { reply.code(201); throw new Error('boom') })
  })
  t.equal((await app.inject('/conflict')).statusCode, 409)
  t.equal((await app.inject('/ok')).statusCode, 500)
})

inBothProducts('reply.send(error) and a returned error are failures', async (t, build) => {
  const app = await build(app => {
    app.get('/', (_request, reply) => { reply.send(Object.assign(new Error('sent'), { statusCode: 403 })) })
    app.get('/async', async (_request, reply) => reply.send(new Error('sent')))
    app.get('/returned', () => new Error('returned'))
  })
  t.match(await outcomeOf(app, { url: '/' }), { status: 403, chain: ['Error: sent'] })
  t.match(await outcomeOf(app, { url: '/async' }), { status: 500, chain: ['Error: sent'] })
  t.match(await outcomeOf(app, { url: '/returned' }), { status: 500, chain: ['Error: returned'] })
})

inBothProducts('headers for another body are removed from the diagnostic page', async (t, build) => {
  const app = await build(app => app.get('/', (_request, reply) => {
    reply.headers({
      'content-type': 'image/png',
      etag: '"1"',
      'content-encoding': 'gzip',
      'content-length': '3',
      'content-disposition': 'attachment',
      'last-modified': 'Sat, 21 Nov 2026 00:00:00 GMT',
      'cache-control': 'public, max-age=600',
      expires: 'never',
      location: '/x',
      'x-kept': 'yes'
    })
    throw new Error('boom')
  }))
  const port = await listen(app)
  const answer = await get(port, '/', { Accept: 'text/html' })
  t.equal(statusOf(answer), 500)
  t.equal(headerOf(answer, 'content-type'), 'text/html; charset=utf-8')
  t.equal(headerOf(answer, 'cache-control'), 'no-store')
  t.equal(headerOf(answer, 'x-kept'), 'yes')
  t.equal(Number(headerOf(answer, 'content-length')), Buffer.byteLength(answer.split('\r\n\r\n').slice(1).join('\r\n\r\n')))
  for (const name of ['etag', 'content-encoding', 'content-disposition', 'last-modified', 'expires', 'location']) {
    t.equal(headerOf(answer, name), undefined, name)
  }
})

inBothProducts('an error after the response is in the profile, and the response is unchanged', async (t, build) => {
  const app = await build(app => app.get('/', async (_request, reply) => {
    reply.send('fine')
    await later()
    throw new Error('too late')
  }))
  const response = await app.inject('/')
  t.same([response.statusCode, response.body], [200, 'fine'])
  let profile = await profileOf(app, response)
  for (let tries = 0; profile.exceptions.length === 0 && tries < 2_000; tries++) {
    await later()
    profile = await profileOf(app, response)
  }
  t.equal(profile.status, 200)
  t.ok(JSON.stringify(profile).includes('too late'), 'is in the profile')
})

const prefixed = { level: 'info', stream: { write () {} }, msgPrefix: '[api] ' }
const LOGGERS: Record<string, object | false> = {
  'with a prefix': prefixed,
  'with a hook that replaces messages': {
    ...prefixed,
    hooks: { logMethod (this: object, [fields]: [unknown], method: (...args: unknown[]) => void) { method.call(this, fields, 'REPLACED') } }
  },
  'without lines': false,
  'that is silent': { level: 'silent' },
  'for errors only': { ...prefixed, level: 'error' }
}

for (const [name, logger] of Object.entries(LOGGERS)) {
  inBothProducts(`an error after the response is an exception, and one that is only logged is none: a logger ${name}`, async (t, build) => {
    const app = await build((app) => {
      app.get('/late', async (_request, reply) => {
        reply.send('sent')
        await later()
        throw new Error('too late')
      })
      app.get('/text', async (_request, reply) => {
        reply.send('sent')
        throw 'a text' // eslint-disable-line no-throw-literal
      })
      app.get('/logged', async (request, reply) => {
        reply.send('sent')
        await later()
        request.log.error({ err: new Error('the mail failed') }, 'Promise errored, but reply.sent = true was set')
      })
      app.get('/twice', (_request, reply) => {
        reply.send('sent')
        reply.send('sent again')
      })
    }, {}, { logger })
    const again = 'FastifyError: Reply was already sent, did you forget to "return reply" in "/twice" (GET)?'
    for (const [url, ...errors] of [['/late', 'Error: too late'], ['/text', 'Thrown string: a text'], ['/logged'], ['/twice', again]] as const) {
      const response = await app.inject(url)
      t.same([response.statusCode, response.body], [200, 'sent'], url)
      await new Promise((resolve) => setTimeout(resolve, 30))
      let profile = await profileOf(app, response)
      for (let tries = 0; profile.exceptions.length < errors.length && tries < 2_000; tries++) {
        await later()
        profile = await profileOf(app, response)
      }
      const { exceptions, collectors } = profile
      t.same(chainOf(exceptions), errors, url)
      t.equal(collectors.otherErrors, undefined, url)
      if (url === '/twice') t.match(exceptions[0]?.frames.find(({ own }) => own)?.excerpt?.lines.join('\n'), 'sent again')
    }
  })
}

const HOOKS: Record<string, (app: FastifyInstance, raise: () => never) => void> = {
  onRequest: (app, raise) => app.addHook('onRequest', async () => raise()),
  preParsing: (app, raise) => app.addHook('preParsing', async () => raise()),
  preValidation: (app, raise) => app.addHook('preValidation', async () => raise()),
  preHandler: (app, raise) => app.addHook('preHandler', async () => raise()),
  preSerialization: (app, raise) => app.addHook('preSerialization', async () => raise())
}

inBothProducts('errors of hooks of the application are answered and recorded', async (t, build, product) => {
  for (const [name, add] of Object.entries(HOOKS)) {
    const app = await build(app => {
      add(app, () => { throw Object.assign(new Error(`thrown in ${name}`), { statusCode: 503 }) })
      app.post('/', () => ({ a: 1 }))
    })
    const response = await app.inject({ method: 'POST', url: '/', payload: { a: 1 } })
    t.equal(response.statusCode, 503, name)
    t.ok(response.body.includes(`thrown in ${name}`), name)
    const profile = await profileOf(app, response)
    t.same(chainOf(profile.exceptions), [`Error: thrown in ${name}`])
    t.match(profile.route, { name: 'POST /' })
    if (product === 'service') t.match(eventOf(profile, 'kernel.finish_request', 'router'), { outcome: 'ran', pass: 'error' })
  }
})

inBothProducts('errors of hooks with a callback are answered and recorded', async (t, build) => {
  const app = await build(app => {
    app.addHook('preHandler', (_request, _reply, done) => { setTimeout(() => done(new Error('called back')), 2) })
    app.get('/', () => 'x')
  })
  t.match(await outcomeOf(app, { url: '/' }), { status: 500, chain: ['Error: called back'] })
})

inBothProducts('the page shows the error of an onSend hook that throws once', async (t, build) => {
  const app = await build(app => {
    let thrown = false
    app.addHook('onSend', async () => {
      if (thrown) return
      thrown = true
      throw new Error('thrown in onSend')
    })
    app.get('/', () => 'x')
  })
  const response = await app.inject('/')
  t.equal(response.statusCode, 500)
  t.ok(response.body.includes('thrown in onSend'))
  t.same(chainOf((await profileOf(app, response)).exceptions), ['Error: thrown in onSend'])
})

inBothProducts('if an onSend hook always throws, the profile has both errors, and in the service the fallback page', async (t, build, product) => {
  const app = await build(app => {
    app.addHook('onSend', async () => { throw new Error('always <b>thrown</b> in onSend') })
    app.get('/ok', () => 'x')
    app.get('/boom', () => { throw Object.assign(new Error('the first one'), { statusCode: 409 }) })
  })
  const port = await listen(app)
  const answer = await get(port, '/boom')
  t.equal(statusOf(answer), 409)
  const profile = await newest(app)
  if (product === 'service') {
    t.equal(headerOf(answer, 'content-type'), 'text/html; charset=utf-8')
    for (const text of ['Raised while this error was answered', 'the first one', 'always &#60;b&#62;thrown']) t.ok(answer.includes(text), text)
    t.notOk(answer.includes('<b>thrown'))
  }
  t.equal(profile.status, 409)
  const errors = ['the first one', 'always <b>thrown</b> in onSend']
  const [answered, other] = product === 'service' ? errors : errors.reverse()
  t.same(chainOf(profile.exceptions), [`Error: ${answered}`])
  t.match(profile.collectors.otherErrors, [[{ message: other }]])
  t.equal(statusOf(await get(port, '/ok')), 500)
  t.equal(statusOf(await get(port, '/nix')), 404)
  t.match(await raw(port, 'GARBAGE\r\n\r\n'), /^HTTP\/1\.1 400/)
})

inBothProducts('an error that an error handler sends, throws or rejects with is explained, beside the first one', async (t, build) => {
  const second = (): Error => Object.assign(new Error('second'), { statusCode: 409, code: 'SECOND' })
  const handlers: Record<string, RouteShorthandOptions['errorHandler']> = {
    throws () { throw second() },
    sends (_error, _request, reply) { reply.send(second()) },
    'sends with its cause' (first, _request, reply) { reply.send(Object.assign(second(), { cause: first })) },
    async rejects () { throw second() },
    async returns () { return second() }
  }
  const log = (): void => {}
  const other = { level: 'info', trace: log, debug: log, info: log, warn: log, error: log, fatal: log, silent: log, child () { return other } }
  class Quiet extends LogController { override defaultErrorLog (): void {} }
  const servers = [
    {}, { logger: { level: 'silent' } }, { logger: false }, { disableRequestLogging: true },
    { logController: new Quiet() }, { logger: undefined, loggerInstance: other }
  ]
  for (const server of servers) {
    const app = await build((app) => {
      for (const [name, errorHandler] of Object.entries(handlers)) {
        app.get(`/route/${name}`, { ...(errorHandler && { errorHandler }) }, async () => { throw new Error('first') })
        app.register(async (app) => {
          if (errorHandler !== undefined) app.setErrorHandler(errorHandler)
          app.get('/', async () => { throw new Error('first') })
        }, { prefix: `/instance/${name}` })
      }
    }, {}, server)
    for (const name of Object.keys(handlers)) {
      for (const url of [`/route/${name}`, `/instance/${name}/`]) {
        const response = await app.inject({ url, headers: { accept: 'text/html' } })
        t.equal(response.statusCode, 409, url)
        t.match(response.body, /<h1>(?:second|first)<\/h1>/, url)
        const { exceptions, collectors: { otherErrors } } = await profileOf(app, response)
        const isCause = name === 'sends with its cause'
        t.same(chainOf(exceptions), isCause ? ['Error: first', 'Error: second'] : ['Error: second'], url)
        t.match(exceptions.at(-1), { code: 'SECOND', statusCode: 409, frames: [{ own: true }] }, url)
        if (isCause) t.equal(otherErrors, undefined)
        else t.match(otherErrors, [[{ message: 'first' }]], url)
      }
    }
    await app.close()
  }
})

inBothProducts('a value that is no error, with which an error handler rejects, is explained beside the first one', async (t, build) => {
  for (const disableRequestLogging of [false, true]) {
    const app = await build((app) => {
      app.get('/', { async errorHandler () { throw 'a text' } }, async () => { throw new Error('first') }) // eslint-disable-line no-throw-literal
      app.get('/answered', { async errorHandler () { return 'a text' } }, async () => { throw new Error('first') })
    }, {}, { disableRequestLogging })
    const response = await app.inject('/')
    t.equal(response.statusCode, 500)
    const { exceptions, collectors } = await profileOf(app, response)
    t.same(chainOf(exceptions), ['Thrown string: a text'])
    t.match(collectors.otherErrors, [[{ message: 'first' }]])
    const answered = await app.inject('/answered')
    t.equal(answered.body, 'a text')
    t.same(chainOf((await profileOf(app, answered)).exceptions), ['Error: first'])
    await app.close()
  }
})

inBothProducts('an error that an error handler only logs is not an exception', async (t, build) => {
  const app = await build((app) => {
    app.get('/', {
      errorHandler (first, request, reply) {
        request.log.error({ err: new Error('not sent') }, 'the mail failed')
        reply.code(500).send({ statusCode: 500, error: 'Internal Server Error', message: 'Please try again' })
      }
    }, async () => { throw new Error('first') })
  })
  const response = await app.inject('/')
  t.same(response.json(), { statusCode: 500, error: 'Internal Server Error', message: 'Please try again' })
  const { exceptions, collectors } = await profileOf(app, response)
  t.same(chainOf(exceptions), ['Error: first'])
  t.equal(collectors.otherErrors, undefined)
})

inBothProducts('a second response is explained, beside the one that was sent', async (t, build) => {
  const app = await build((app) => {
    app.addHook('onSend', async (_request, _reply, payload) => {
      await later()
      return payload
    })
    app.get('/text', (_request, reply) => {
      reply.send('first')
      reply.send('second')
    })
    app.get('/object', (_request, reply) => {
      reply.send({ sent: 'first' })
      reply.code(404).send({ sent: 'second' })
    })
    app.get('/later', (_request, reply) => {
      reply.send('first')
      setTimeout(() => { reply.send('second') }, 2)
    })
    app.get('/much-later', (_request, reply) => {
      reply.send('first')
      setTimeout(() => { reply.send('second') }, 60)
    })
    app.get('/returned', async (_request, reply) => {
      reply.send('first')
      return 'second'
    })
    app.get('/early', async (_request, reply) => { setTimeout(() => { reply.send('late') }, 20) })
    app.addHook('onRequest', function repeated (request, _reply, done) {
      done()
      if (request.url === '/repeated') done()
    })
    app.get('/repeated', async () => 'x')
  })
  const port = await listen(app)
  for (const path of ['/text', '/object', '/later', '/much-later', '/returned']) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    t.match(await response.text(), 'first', path)
    const sent = { headers: Object.fromEntries(response.headers) }
    let profile = await profileOf(app, sent)
    for (let tries = 0; profile.exceptions.length === 0 && tries < 2_000; tries++) {
      await later()
      profile = await profileOf(app, sent)
    }
    // The status of the second response was set before the first one was written.
    t.equal(response.status, path === '/object' ? 404 : 200, path)
    t.equal(profile.status, response.status, path)
    const message = `Reply was already sent, did you forget to "return reply" in "${path}" (GET)?`
    t.match(profile.exceptions, [{ code: 'FST_ERR_REP_ALREADY_SENT', message }], path)
    if (path !== '/returned') t.match(profile.exceptions[0]?.frames.find(({ own }) => own)?.excerpt?.lines.join('\n'), 'second', path)
    t.equal(profile.collectors.otherErrors, undefined, path)
    t.match(JSON.stringify((profile.collectors.response as { body: unknown }).body), 'first', path)
    const markdown = withoutMarks((await app.inject(`/_profiler/${profile.token}.md`)).body)
    t.match(markdown, /^# \d+ [^\n]+\n\n> Recorded data: [^\n]+\n\n`Reply was already sent/, path)
    t.match(markdown, path === '/returned'
      ? /GET returned \d+ .* The client received the response of \S*failures\\?\.test\.ts:\d+, and not what an async function returned\./
      : /GET returned \d+ .* The client received the response of \S*failures\\?\.test\.ts:\d+, and not that of \S*failures\\?\.test\.ts:\d+\./, path)
    const { profiles } = await app.hindsight.profiler.search({ limit: 9 })
    t.match(profiles.filter(({ token }) => token === profile.token), [{ status: response.status, error: true, exception: `FastifyError: ${message}` }], path)
  }
  for (const [path, expected] of [
    ['/early', /received an empty response, as the handler returned undefined, and not that of packages\/hindsight\/test\/failures\.test\.ts:\d+\.$/],
    // The hook of the other response has not sent this one.
    ['/repeated', /has called done twice \(packages\/hindsight\/test\/failures\.test\.ts:\d+\)\.(?: Of two responses, .*)?$/]
  ] as const) {
    const response = await app.inject(path)
    let profile = await profileOf(app, response)
    for (let tries = 0; profile.exceptions.length === 0 && tries < 2_000; tries++) {
      await later()
      profile = await profileOf(app, response)
    }
    t.match(outcomeSentence(profile), expected, path)
  }
})

inBothProducts('an error after a part of the response was written to reply.raw is the first one', async (t, build, product) => {
  const app = await build((app) => {
    app.get('/written', (_request, reply) => {
      reply.raw.writeHead(200)
      reply.raw.write('a')
      throw new Error('in between')
    })
    app.get('/later', async (_request, reply) => {
      reply.raw.write('a')
      await later()
      throw new Error('in between')
    })
    app.get('/twice', (_request, reply) => {
      reply.raw.writeHead(200)
      reply.raw.writeHead(201)
    })
  })
  const port = await listen(app)
  const refused = 'Error: Cannot write headers after they are sent to the client'
  for (const [path, first] of [['/written', 'Error: in between'], ['/later', 'Error: in between'], ['/twice', refused]] as const) {
    await raw(port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    let profile = await newest(app)
    while (!profile.url.endsWith(path)) {
      await later()
      profile = await newest(app)
    }
    const { exceptions, collectors } = profile
    t.same(chainOf(exceptions), [first], path)
    t.match(exceptions[0]?.frames.find(({ own }) => own)?.file, /failures\.test\.ts$/, path)
    // In the service the connection is closed for the first error.
    const { otherErrors = [] } = collectors as { otherErrors?: Exception[][] }
    t.same(chainOf(otherErrors.flat()), product === 'service' ? [] : [refused], path)
    const unsent = /^The application sent no response in .* The server closed the connection before the response was sent\. An error was recorded: Error: /
    t.match(outcomeSentence(profile), path === '/later' ? 'The response was cut off after ' : unsent, path)
    // Node.js drops what it has not written.
    t.equal(profile.status, path === '/later' ? 200 : 0, path)
  }
})

inBothProducts('an onSend hook that always fails is one failure', async (t, build, product) => {
  const app = await build((app) => {
    async function signPayload (): Promise<never> { throw new Error('no key to sign with') }
    const fail = (): never => { throw new Error('the handler failed') }
    app.register(async (scope) => {
      scope.addHook('onSend', (_request, _reply, _payload, done) => { done(new Error('no key to sign with')) })
      scope.get('/callback', async () => ({ ok: true }))
    })
    app.register(async (scope) => {
      scope.addHook('onSend', signPayload)
      scope.get('/scope', async () => ({ ok: true }))
      scope.get('/scope-after-failure', fail)
    })
  })
  const port = await listen(app)
  const place = '\\(packages/hindsight/test/failures\\.test\\.ts:\\d+\\)'
  // The service sends its page without the hooks when one of them has failed.
  const outcome = product === 'service' ? 'raised Error' : 'failed, and again for the response about that'
  for (const [path, hook] of [['/scope', ' "signPayload"'], ['/callback', '']] as const) {
    await get(port, path)
    const profile = await newest(app)
    t.match(outcomeSentence(profile), new RegExp(`^Error: no key to sign with ${place}\\. The onSend hook${hook} ${place} ${outcome}\\.$`), path)
    t.same(chainOf(profile.exceptions), ['Error: no key to sign with'], path)
    t.equal(profile.collectors.otherErrors, undefined, path)
  }
  for (const path of ['/scope-after-failure']) {
    await get(port, path)
    const profile = await newest(app)
    const both = `The onSend hook "signPayload" ${place} failed with Error for the response about an earlier failure of GET ${path} `
    const first = `^Error: the handler failed ${place}\\. The handler of GET ${path} `
    const expected = product === 'service' ? first : `${both}\\(Error: the handler failed\\)\\.$`
    t.match(outcomeSentence(profile), new RegExp(expected), path)
    const other = product === 'service' ? 'no key to sign with' : 'the handler failed'
    const others = profile.collectors.otherErrors as Exception[][]
    t.same(others.flatMap((chain) => chainOf(chain)), [`Error: ${other}`], path)
  }
})

inBothProducts('the hook that an overview names is the one that has raised the error', async (t, build) => {
  const app = await build((app) => {
    app.register(async (scope) => {
      scope.addHook('onError', async function count () { throw new Error('not counted') })
      scope.get('/handler', () => { throw new Error('first') })
      scope.get('/hook', { preHandler: async () => {} }, () => 'never')
      scope.addHook('preHandler', async function authenticate (request) { if (request.url === '/hook') throw new Error('refused') })
    })
  })
  const sentence = async (path: string) => outcomeSentence(await profileOf(app, await app.inject(path)))
  t.match(await sentence('/handler'), /^Error: first \(.*:\d+\)\. The handler of GET \/handler \(.*:\d+\) failed with Error\.$/)
  const raised = /^Error: refused \(.*\)\. The preHandler hook "authenticate" \(.*:\d+\) raised Error; the handler of GET \/hook \(.*\) did not run\.$/
  t.match(await sentence('/hook'), raised)
})

inBothProducts('an error that its response schema refuses is explained with the error about that', async (t, build, product) => {
  const app = await build((app) => {
    const required = { type: 'object', required: ['traceId'], properties: { traceId: { type: 'string' } } }
    const failing = (key: string, schema: object, statusCode: number) => app.get(`/${key}`, { schema: { response: { [key]: schema } } }, async () => {
      throw Object.assign(new Error('boom'), { statusCode })
    })
    failing('4xx', required, 418)
    failing('500', required, 500)
    failing('default', { type: 'object', properties: { message: { type: 'integer' } } }, 503)
    app.get('/serializer', {
      schema: { response: { 500: required } }, serializerCompiler: () => () => { throw new Error('no serializer') }
    }, async () => { throw new Error('boom') })
  })
  for (const [path, why] of [
    ['/4xx', 'does not fit response schema 4xx, which requires "traceId"'], ['/500', 'does not fit response schema 500, which requires "traceId"'],
    ['/default', 'does not fit response schema default, which refuses "boom", which cannot be converted to an integer'],
    ['/serializer', 'could not be serialized (no serializer)']
  ] as const) {
    const response = await app.inject({ url: path, headers: { accept: 'text/html' } })
    const profile = await profileOf(app, response)
    const sentence = outcomeSentence(profile)
    t.equal(chainOf(profile.exceptions)[0], 'Error: boom', path)
    t.match(response.body, '<title>boom ', path)
    const { profiles } = await app.hindsight.profiler.search({ limit: 9 })
    t.equal(profiles.find(({ token }) => token === profile.token)?.exception, 'Error: boom', path)
    // The page of the service is not serialized by the schema.
    if (product === 'service') {
      t.match(sentence, /^Error: boom \(.*\)\. The handler of GET \S+ \(.*\) failed with Error\.$/, path)
      continue
    }
    t.equal(response.statusCode, 500, path)
    t.match(chainOf(profile.exceptions)[1], /^FastifyError: Failed to serialize an error\. Error: .* Original error: boom$/, path)
    t.ok(sentence.endsWith(`${why}; so 500 was sent.`), sentence)
    t.match(sentence, / Its root cause is Error: boom \(packages\/hindsight\/test\/failures\.test\.ts:\d+\)\. The answer to an earlier failure of GET /, path)
    t.match(JSDOM.fragment(response.body).textContent, `${why}; so 500 was sent.`, path)
  }
})

inBothProducts('what has begun or continued a request is not the first own code of its failure', async (t, build) => {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 100
  t.teardown(() => { Error.stackTraceLimit = stackTraceLimit })
  const storage = new AsyncLocalStorage()
  const app = await build((app) => {
    app.addHook('onRequest', (_request, _reply, done) => { done() })
    app.addHook('preValidation', (_request, _reply, done) => { storage.run({}, done) })
    app.addHook('preValidation', (_request, _reply, done) => { [1].forEach(() => done()) })
    app.addHook('onSend', (_request, _reply, payload, done) => { done(null, payload) })
    app.get('/required', { schema: { querystring: { type: 'object', required: ['q'] } } }, () => 'never')
    app.get('/unsendable', (_request, reply) => { reply.type('text/plain').send(7) }) // unsendable
    app.get('/declined', (_request, reply) => { reply.callNotFound() }) // declined
    app.get('/thrown', () => { throw new Error('boom') }) // thrown
    app.get('/returned', (_request, reply) => {
      reply.code(409)
      return { a: 1 }
    })
  })
  await app.inject('/')
  for (const path of ['/required', '/unsendable', '/declined', '/thrown', '/returned']) {
    // The callback makes `inject` synchronous.
    const response = await new Promise<{ headers: object }>((resolve) => {
      app.inject(path, (_error, response) => resolve(response!)) // injector
    })
    const { exceptions, collectors } = await profileOf(app, response)
    const own = exceptions.flatMap(({ frames }) => frames).filter((frame) => frame.own).map(({ line }) => line)
    t.ok([undefined, lineOf(path.slice(1))].includes(own[0]), `${path}: ${own.join()}`)
    t.notOk(own.includes(lineOf('injector')), path)
    t.equal((collectors.response as { sentBy?: string }).sentBy, undefined, path)
  }
})

inBothProducts('names and allowed values of rejected fields are masked like values', async (t, build) => {
  const allowed = 'planted'.concat('-one')
  const issues = [
    { code: 'invalid_value', path: ['password'], message: `Invalid option: expected one of "${allowed}"|"free"` },
    { type: 'any.only', path: ['user', 'token'], message: `"user.token" must be [${allowed}]` },
    { code: 'invalid_value', path: ['plan'], message: 'expected "free"' }
  ]
  const app = await build((app) => {
    app.post('/issues', { schema: { body: {} }, validatorCompiler: () => () => ({ error: Object.assign(new Error('refused'), { issues }) }) }, () => 'never')
    app.post('/names', { schema: { body: { type: 'object', additionalProperties: { type: 'number' } } } }, () => 'never')
  })
  for (const [url, payload, fields] of [
    ['/issues', { plan: 'gold' }, [
      { field: 'password', message: 'Invalid option: expected one of ******|******' },
      { field: 'user.token', message: '"user.token" must be ******' }, { field: 'plan', received: '"gold"', message: 'expected "free"' }
    ]],
    ['/names', { 'password=planted-two': 'x' }, [{ field: 'password=******', received: '"******"', message: 'must be number' }]]
  ] as const) {
    const response = await app.inject({ method: 'POST', url, payload, headers: { accept: 'text/html' } })
    const { exceptions, collectors } = await profileOf(app, response)
    t.match(exceptions.at(-1)?.rejected?.fields, fields, url)
    const { summary } = collectors.exceptions as { summary: string }
    t.notMatch(summary + JSDOM.fragment(response.body).querySelector('h1')?.textContent, 'planted', url)
  }
})

inBothProducts('a handler that throws after its response is explained with both', async (t, build) => {
  const app = await build((app) => {
    app.get('/', (_request, reply) => {
      reply.send('first')
      throw new Error('lost')
    })
  })
  const sentence = outcomeSentence(await profileOf(app, await app.inject('/')))
  t.match(sentence, /received the response of packages\/hindsight\/test\/failures\.test\.ts:\d+, and not what the handler returned or threw\.$/)
})

inBothProducts('an answer to a failure that fails is explained with that failure, and not with one of an onError hook', async (t, build, product) => {
  const app = await build((app) => {
    app.get('/', { onError: async () => { throw new Error('not counted') }, onSend: async () => { throw new Error('not sent') } }, () => {
      throw new Error('boom')
    })
    app.get('/refused', { schema: { response: { 200: { type: 'array', items: {} } } } }, async () => ({ a: 1 }))
  })
  const sentence = outcomeSentence(await profileOf(app, await app.inject('/')))
  if (product === 'package') t.match(sentence, /The answer to an earlier failure of GET \/ \(Error: boom\) failed with Error\.$/)
  const refused = outcomeSentence(await profileOf(app, await app.inject('/refused')))
  t.match(refused, "TypeError: response schema 200 refuses the value of '#', which does not match schema definition; the handler returned {a}.")
})

inBothProducts('what a validator without JSON Schema refuses is explained by field', async (t, build) => {
  const refuse = (property: string, list: object[]) => () => () => ({ error: Object.assign(new Error('[many lines]'), { [property]: list }) })
  const message = 'expected a string'
  const app = await build((app) => {
    const schema = { body: {} }
    app.post('/zod', { schema, validatorCompiler: refuse('issues', [{ code: 'invalid_type', path: ['user', 'tags', 0], message }]) }, () => 'never')
    app.post('/valibot', { schema, validatorCompiler: refuse('issues', [{ type: 'string', path: [{ key: 'name' }], message }, { message }]) }, () => 'never')
    app.post('/joi', { schema, validatorCompiler: refuse('details', [{ type: 'string.base', path: ['password'], message }]) }, () => 'never')
    const throwIssues = () => { throw Object.assign(new Error('no result'), { issues: [{ path: [], message }] }) }
    app.post('/thrown', { schema, validatorCompiler: () => throwIssues }, () => 'never')
  })
  const payload = { name: 5, password: 482913, user: { tags: [7] } }
  for (const [url, status, expected] of [
    ['/zod', 400, `body/user/tags/0: ${message}, got 7`],
    ['/valibot', 400, `body/name: ${message}, got 5; body: ${message}, got {"name":5,"password":"******","user":{"tags":[7]}}`],
    ['/joi', 400, `body/password: ${message}, got "******"`],
    ['/thrown', 500, 'no result']
  ] as const) {
    const response = await app.inject({ method: 'POST', url, payload, headers: { accept: 'text/html' } })
    t.equal(response.statusCode, status, url)
    t.equal(JSDOM.fragment(response.body).querySelector('h1')?.textContent, expected, url)
    const { collectors } = await profileOf(app, response)
    const { summary } = collectors.exceptions as { summary: string }
    const rejected = /^The schema of POST \/\w+ \(.*\) rejected the body; /
    t.match(summary, status === 500 ? /^POST \/thrown failed with Error; / : rejected, url)
  }
})

inBothProducts('an answer of an error handler that its schema refuses is not called that of the handler', async (t, build) => {
  const required = { type: 'object', required: ['traceId'], properties: { traceId: { type: 'string' } } }
  const app = await build((app) => {
    app.register(async (scope) => {
      scope.setErrorHandler((_error, _request, reply) => reply.code(502).send({ oops: true }))
      scope.get('/', { schema: { response: { '5xx': required } } }, async () => { throw new Error('boom') })
    })
  })
  const { collectors } = await profileOf(app, await app.inject('/'))
  t.match(collectors.wire, { changes: [{ text: 'response schema 5xx requires "traceId"; the error handler returned {oops}' }] })
})

inBothProducts('a response that an error has cut off is called so', async (t, build) => {
  const app = await build((app) => {
    const half = async function * () {
      yield 'a'.repeat(1000)
      await later()
      throw new Error('the disk is gone')
    }
    app.get('/announced', async (_request, reply) => reply.header('content-length', 5000).send(Readable.from(half())))
    app.get('/chunked', async (_request, reply) => reply.send(Readable.from(half())))
    app.register(async (scope) => {
      scope.setErrorHandler((_error, _request, reply) => reply.code(503).send(Readable.from(half())))
      scope.get('/answer', async () => { throw new Error('boom') })
    })
    app.get('/nothing', async () => {
      let pulls = 0
      return new Response(new ReadableStream({
        pull (controller) {
          if (pulls++ < 3) controller.enqueue(Buffer.from('a'))
          else controller.error(new Error('the disk is gone'))
        }
      }))
    })
  })
  const port = await listen(app)
  for (const [path, status, expected] of [
    ['/announced', 200, /^The response was cut off after 1(?:\.\d)? kB with its headers, of a body of 5 kB: /],
    ['/chunked', 200, /^The response was cut off after 1(?:\.\d)? kB with its headers: /],
    ['/answer', 503, /^Error: boom \(.*\)\. The handler of GET \/answer \(.*\) failed with Error\. The response was cut off after 1(?:\.\d)? kB/],
    // Node.js had not written the headers.
    ['/nothing', 0, /^The application sent no response in .* The server closed the connection before the response was sent\. An error was recorded: /]
  ] as const) {
    await get(port, path).catch(() => '')
    while ((await app.hindsight.profiler.latest())?.url.endsWith(path) !== true) await later()
    const profile = await newest(app)
    t.equal(profile.status, status, path)
    t.match(outcomeSentence(profile), expected, path)
    const cause = /: Error: the disk is gone \(packages\/hindsight\/test\/failures\.test\.ts:\d+\)\.(?: The status 200 OK had been sent before\.)?$/
    if (path !== '/answer') t.match(outcomeSentence(profile), cause, path)
    if (status === 0) continue
    const badge = `<span class="status status-5">${status}, cut off</span>`
    const { body } = await app.inject('/_profiler/')
    t.ok(body.includes(badge), path)
    if (status === 200) t.ok((await app.inject('/_profiler/?group=failures')).body.includes(badge), path)
    t.match((await app.inject(`/_profiler/${profile.token}`)).body, `<strong>${status}, cut off</strong>`, path)
    t.match(profileMarkdown(profile), `# ${status}, cut off\n`, path)
  }
})

inBothProducts('a failure without a frame of the application is shown with the handler of its route', async (t, build) => {
  const response = { 200: { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } } }
  const app = await build((app) => app.get('/orders', { schema: { response } }, async () => ({ name: 'x' })))
  const profile = await profileOf(app, await app.inject('/orders'))
  t.match(outcomeSentence(profile), new RegExp('^Error: response schema 200 requires "id"; the handler returned {name}. ' +
    'The response of GET /orders \\(packages/hindsight/test/failures.test.ts:\\d+\\) does not fit its schema.$'))
  const sheet = profileMarkdown(profile)
  t.match(sheet, /Route: `packages\/hindsight\/test\/failures\.test\.ts:\d+`[^]*\n> \d+ \| .*async \(\) => \(\{ name: 'x' \}\)/)
  const { body } = await app.inject(`/_profiler/${profile.token}`)
  t.match(body, /<h3>Route: packages\/hindsight\/test\/failures\.test\.ts:\d+<\/h3><pre class="excerpt">/)
})

inBothProducts('the failure of a not-found handler is not called a missing route', async (t, build) => {
  const app = await build((app) => {
    app.register(async (scope) => {
      scope.setNotFoundHandler(() => { throw new TypeError('not rendered') })
      scope.get('/gone', (_request, reply) => reply.callNotFound())
    }, { prefix: '/handler' })
    app.register(async (scope) => { scope.setNotFoundHandler((_request, reply) => reply.code(410).send('gone')) }, { prefix: '/moved' })
    app.register(async (scope) => {
      scope.setNotFoundHandler(() => 'nothing here')
      scope.addHook('onRequest', async function limit () { throw new Error('slow down') })
    }, { prefix: '/hook' })
  })
  const why = 'the not-found handler or its hook failed with TypeError'
  for (const [url, summary] of [
    ['/handler/unknown', `No route matches GET /handler/unknown; ${why}.`],
    ['/handler/gone', `GET /handler/gone matched, and reply.callNotFound() was called; ${why}.`],
    ['/hook/unknown', 'The onRequest hook "limit" (packages/hindsight/test/failures.test.ts:']
  ] as const) {
    const { body } = await app.inject({ url, headers: { accept: 'text/html' } })
    const text = JSDOM.fragment(body).textContent ?? ''
    t.ok(text.includes(summary), `${url}: ${/(?:No route matches|GET \S+ matched|The hook)[^.]*\./.exec(text)?.[0]}`)
  }
  const moved = outcomeSentence(await profileOf(app, await app.inject('/moved/unknown')))
  t.match(moved, /^NotFoundError: .* 1 route is declared, and none matches\.$/)
})

inBothProducts('a handler that has exceeded its time is shown with the code that it waits for', async (t, build) => {
  const app = await build((app) => {
    app.get('/', { handlerTimeout: 20 }, () => new Promise(() => {})) // timeout
  })
  const { collectors, exceptions } = await profileOf(app, await app.inject('/'))
  t.match(exceptions, [{ code: 'FST_ERR_HANDLER_TIMEOUT' }])
  t.match(collectors.waiting, { in: { name: 'the handler', source: `${import.meta.filename}:${lineOf('timeout')}` } })
})

inBothProducts('the error of a page is not one of the other errors', async (t, build) => {
  const app = await build((app) => {
    app.setErrorHandler(async () => ({ problem: true }))
    app.get('/', { onSend: async () => {} }, () => { throw new Error('first') })
    app.addHook('preSerialization', async () => { throw new Error('not serialized') })
  })
  const { body } = await app.inject({ url: '/', headers: { accept: 'text/html' } })
  t.match(JSDOM.fragment(body).textContent, /Other errors\s+Error: first(?!;)/)
})

inBothProducts('an error without calls of the application has the place of its first member', async (t, build) => {
  const app = await build((app) => {
    app.get('/', () => Promise.any([Promise.reject(new Error('one')), Promise.reject(new TypeError('two'))])) // rejected
  })
  const { exceptions } = await profileOf(app, await app.inject('/'))
  const line = lineOf('rejected')
  t.match(firstAppFrame(exceptions), { file: import.meta.filename, line })
  const { body } = await app.inject({ url: '/', headers: { accept: 'text/html' } })
  t.match(body, `failures.test.ts:${line}`)
})

inBothProducts('a second response is explained before the error of its payload', async (t, build) => {
  const app = await build((app) => {
    app.addHook('onSend', async (_request, _reply, payload) => payload)
    app.get('/', (_request, reply) => {
      reply.send('a text')
      reply.send({ an: 'object' })
    })
  })
  const { exceptions, collectors } = await profileOf(app, await app.inject('/'))
  t.match(exceptions, [{ code: 'FST_ERR_REP_ALREADY_SENT' }])
  t.match(exceptions[0]?.frames.find(({ own }) => own)?.excerpt?.lines.join('\n'), "an: 'object'")
  t.match(collectors.otherErrors, [[{ code: 'FST_ERR_REP_INVALID_PAYLOAD_TYPE' }]])
})

inBothProducts('a response that cannot be sent or serialized is shown with the hook that has changed it', async (t, build, product) => {
  const wrap = async (_request: unknown, _reply: unknown, payload: unknown) => ({ data: payload }) as never
  const once = async (_request: unknown, reply: FastifyReply, payload: unknown) => reply.statusCode < 400 ? 42 : payload
  const response = { 200: { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } } }
  const app = await build((app) => {
    app.register(async function envelope (scope) {
      scope.addHook('onSend', wrap) // always
      scope.addHook('onSend', async () => {})
      scope.get('/always', async () => ({ id: 1 }))
    })
    app.register(async (scope) => {
      scope.addHook('onSend', once) // errors
      scope.get('/errors', async () => ({ id: 1 }))
    })
    app.register(async (scope) => {
      scope.addHook('preSerialization', wrap) // schema
      scope.get('/schema', { schema: { response } }, async () => ({ id: 1 }))
    })
    app.register(async (scope) => {
      scope.addHook('preSerialization', (_request, _reply, _payload, done) => { done(null, { id: 1n }) }) // bigint
      scope.get('/bigint', async () => ({ id: 1 }))
    })
    app.get('/route', { onSend: wrap }, async () => ({ id: 1 })) // route
    app.register(async (scope) => {
      scope.addHook('onSend', async (_request, _reply, payload) => `${String(payload)} `)
      scope.get('/both', { onSend: wrap }, async () => ({ id: 1 })) // both
    })
    app.get('/text', (_request, reply) => { reply.type('text/plain').send({ id: 1 }) }) // text
    app.get('/typed', (_request, reply) => { reply.type(`text/${'x'.repeat(300)}`).send({ id: 1 }) }) // typed
    app.get('/handler', async () => ({ id: 1n })) // handler
    app.register(async function tagging (scope) {
      scope.addHook('onSend', async function tag (_request, reply) { reply.header('X-Tag', 'a\nb') }) // header
      scope.get('/header', async () => ({ id: 1 }))
    })
    app.get('/redirect', (_request, reply) => { reply.redirect('/a\nb') }) // redirect
    app.get('/read', async () => { const read = new Response('x'); await read.text(); return read }) // read
    const date = { 200: { type: 'object', properties: { at: { type: 'string', format: 'date-time' } } } }
    app.get('/date', { schema: { response: date } }, async () => ({ at: new Date(NaN) })) // date
  })
  const unsent = 'cannot be sent: only strings, Buffers and streams can'
  for (const [name, hook, why] of [
    ['always', 'the onSend hook "wrap" of envelope', unsent],
    ['errors', 'the onSend hook "once"', unsent],
    ['schema', 'the preSerialization hook "wrap"', 'does not fit its schema'],
    ['bigint', 'the preSerialization hook', 'cannot be serialized (JSON has no BigInt)'],
    // The hooks of a route are as the application has declared them: none of ours records their payload.
    ['route', '', unsent],
    ['both', '', unsent],
    ['text', '', 'cannot be sent with the content type text/plain: only strings, Buffers and streams can'],
    ['typed', '', `cannot be sent with the content type text/${'x'.repeat(195)}… (105 more characters): only strings, Buffers and streams can`],
    ['handler', '', 'cannot be serialized (JSON has no BigInt)'],
    ['header', 'the onSend hook "tag" of tagging', 'cannot be sent: its header x-tag is not valid'],
    ['redirect', '', 'cannot be sent: its header location is not valid'],
    ['read', '', 'cannot be sent: its body has been read'],
    ['date', '', 'cannot be serialized (it has an invalid date)']
  ] as const) {
    const answer = await app.inject({ url: `/${name}`, headers: { accept: 'text/html' } })
    const profile = await newest(app)
    const place = `packages/hindsight/test/failures.test.ts:${lineOf(name)}`
    const from = hook === '' ? '' : `, changed by ${hook} (${place}),`
    const { summary, handler } = profile.collectors.exceptions as { summary: string, handler?: { line: number } }
    t.equal(summary.replace(/\(packages\/hindsight\/test\/failures\.test\.ts:\d+\)/, '()'), `The response of GET /${name} ()${from} ${why}.`, name)
    // The stack of a callback, or of `send`, has the place.
    t.equal((firstAppFrame(profile.exceptions) ?? handler)?.line, lineOf(name), name)
    t.match(profileMarkdown(profile), handler === undefined ? place : `${hook === '' ? 'Route' : 'Hook'}: \`${place}\``, name)
    // Of a response that passed the hooks, the package keeps Fastify's answer about the error.
    const kept = ['always', 'errors', 'route', 'both', 'text', 'typed', 'header', 'redirect']
    const hasPage = product === 'service' || !kept.includes(name)
    if (hasPage) t.match(JSDOM.fragment(answer.body).textContent, summary, name)
  }
})

inBothProducts('a payload that cannot be sent for HEAD is that of a hook, and not of Fastify', async (t, build) => {
  const app = await build((app) => {
    app.addHook('onSend', async function wrap (_request, _reply, payload) { return { data: payload } }) // HEAD
    app.get('/', async () => 'x')
  })
  t.equal((await app.inject({ method: 'HEAD', url: '/' })).statusCode, 500)
  const { summary } = (await newest(app)).collectors.exceptions as { summary: string }
  const hook = `the onSend hook "wrap" (packages/hindsight/test/failures.test.ts:${lineOf('HEAD')})`
  t.match(summary, `, changed by ${hook}, cannot be sent: only strings, Buffers and streams can.`)
})

inBothProducts('a hook that raises a value without a stack is shown with its source', async (t, build) => {
  const app = await build((app) => {
    const raised: Readonly<Record<string, unknown>> = { '/text': 'forbidden', '/nothing': undefined }
    app.addHook('preHandler', async function check (request) { throw raised[request.url] }) // hook of a text
    for (const url of Object.keys(raised)) app.get(url, async () => 'never')
  })
  for (const url of ['/text', '/nothing']) {
    const profile = await profileOf(app, await app.inject(url))
    t.match(profileMarkdown(profile), `Hook: \`packages/hindsight/test/failures.test.ts:${lineOf('hook of a text')}\``, url)
    const what = url === '/text' ? 'raised a value that is no Error \\(string\\)' : 'rejected without an error'
    t.match(profile.collectors.exceptions, { summary: new RegExp(`^The preHandler hook "check" \\(.*\\) ${what};`) }, url)
  }
})

inBothProducts('a hook of a route that rejects without an error is called so', async (t, build) => {
  const nothing: unknown = undefined
  const app = await build((app) => app.get('/', { preHandler: async () => { throw nothing } }, async () => 'never'))
  const { collectors } = await profileOf(app, await app.inject('/'))
  t.match(collectors.exceptions, { summary: /^A hook of GET \/ rejected without an error/ })
})

inBothProducts('the values that a schema allows for a secret field are masked', async (t, build) => {
  const app = await build((app) => app.get('/', {
    schema: {
      headers: { type: 'object', properties: { 'x-admin-token': { const: 'planted-one' }, 'x-plan': { const: 'free' } } },
      querystring: { type: 'object', properties: { password: { type: 'string', enum: ['planted-two', 'planted-three'] } } }
    }
  }, async () => 'never'))
  for (const [query, headers, message] of [
    ['', { 'x-admin-token': 'guess' }, 'must be equal to constant: "******"'], ['', { 'x-plan': 'gold' }, 'must be equal to constant: "free"'],
    ['?password=guess', {}, 'must be equal to one of the allowed values: "******"']
  ] as const) {
    const profile = await profileOf(app, await app.inject({ url: `/${query}`, headers }))
    const { rejected } = profile.exceptions.at(-1) ?? {}
    t.match(rejected, { fields: [{ message }] })
    // The excerpt of the source has what the code has.
    const [title = ''] = profileMarkdown(profile).split('\n')
    t.notMatch(JSON.stringify([title, rejected, (profile.collectors.exceptions as { summary: string }).summary]), 'planted')
  }
})

inBothProducts('where a hook fails for the answer to a failure, the sentence names the failure', async (t, build, product) => {
  const app = await build((app) => {
    app.addHook('onSend', async (_request, reply) => { if (reply.statusCode >= 500) throw new TypeError('no answer') })
    app.get('/', async () => { throw new RangeError('the first') })
  })
  await app.inject('/')
  const { collectors } = await newest(app)
  // In the service the page about the first failure is sent without hooks.
  const answer = /^The onSend hook .* failed with TypeError for the response about an earlier failure of GET \/ \(RangeError: the first\)\.$/
  t.match(collectors.exceptions, { summary: product === 'package' ? answer : /^The handler of GET \/ .* failed with RangeError\.$/ })
})

inBothProducts('an answer to a declined request that cannot be sent is not called the missing route only', async (t, build) => {
  const app = await build((app) => app.register(async (api) => {
    api.setNotFoundHandler((_request, reply) => reply.type('text/html').send({ not: 'a text' }))
    api.get('/item', (_request, reply) => { reply.callNotFound() })
  }, { prefix: '/api' }))
  const profile = await profileOf(app, await app.inject('/api/item'))
  t.match(profile.collectors.exceptions, { summary: /^GET \/api\/item matched, and reply\.callNotFound\(\) was called; .* failed with FastifyError\.$/ })
})

inBothProducts('valid JSON with a field that Fastify forbids is not called invalid', async (t, build) => {
  const app = await build((app) => app.post('/', async () => 'never'))
  for (const [payload, fields] of [
    ['{"a":[{"\\u005f_proto__":{"password":"s3cret"}}]}', [{ field: '__proto__', received: '{"password":"******"}' }]],
    ['{"constructor":{"prototype":1}}', [{ field: 'constructor', received: '{"prototype":1}' }]]
  ] as const) {
    const answer = await app.inject({ method: 'POST', url: '/', payload, headers: { 'content-type': 'application/json', accept: 'text/html' } })
    const { collectors, exceptions } = await profileOf(app, answer)
    t.equal(answer.statusCode, 400)
    t.match(exceptions.at(-1)?.rejected, { part: 'body', fields })
    const summary = 'The JSON parser rejected the body; the handler did not run.'
    t.equal((collectors.exceptions as { summary: string }).summary, summary)
    t.match(JSDOM.fragment(answer.body).textContent, summary)
  }
})

inBothProducts('a hook that calls back twice is named, and one that calls back after its response is not', async (t, build) => {
  const app = await build((app) => {
    app.register(async (scope) => {
      scope.addHook('preHandler', function twice (_request, _reply, done) { done(); done() }) // twice
      scope.get('/twice', async () => 'x')
    })
    app.register(async (scope) => {
      scope.addHook('preHandler', (_request, reply, done) => { reply.send('x'); setTimeout(done, 20) })
      scope.get('/answers', async () => 'never')
    })
  })
  await app.inject('/twice')
  await new Promise((resolve) => setTimeout(resolve, 50))
  const { exceptions } = await newest(app)
  t.match(exceptions[0]?.message, /^The preHandler hook "twice" \(packages\/hindsight\/test\/failures\.test\.ts:\d+\) has called done twice$/)
  t.equal(firstAppFrame(exceptions)?.line, lineOf('twice'))
  await app.inject('/answers')
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.same((await newest(app)).exceptions, [])
})

inBothProducts('reply.callNotFound() before or after another response is explained', async (t, build, product) => {
  const app = await build((app) => {
    const continued = new Set<string>()
    app.addHook('onSend', async ({ url }, _reply, payload) => {
      while (!continued.has(url)) await later()
      return payload
    })
    app.get('/after', ({ url }, reply) => {
      reply.send('first')
      try { reply.callNotFound() } finally { continued.add(url) }
    })
    app.get('/after/later', async ({ url }, reply) => {
      reply.send('first')
      await new Promise(resolve => setTimeout(resolve, 1))
      try { return reply.callNotFound() } finally { continued.add(url) }
    })
    app.get('/before', ({ url }, reply) => {
      reply.callNotFound()
      try { reply.send('second') } finally { continued.add(url) }
    })
  })
  for (const url of ['/after', '/after/later', '/before']) {
    const response = await app.inject({ url, headers: { accept: 'text/html' } })
    t.equal(response.statusCode, 404, url)
    let profile = await profileOf(app, response)
    for (let tries = 0; profile.collectors.otherErrors === undefined && tries < 2_000; tries++) {
      await later()
      profile = await profileOf(app, response)
    }
    const { exceptions, collectors: { otherErrors }, route } = profile
    t.match(route, { pattern: url })
    const message = `GET ${url} declined: its handler called reply.callNotFound()${url === '/before' ? '' : ' after a response had been sent'}`
    t.same(chainOf(exceptions), [`NotFoundError: ${message}`])
    t.match(exceptions[0]?.frames.find(({ own }) => own)?.excerpt?.lines.join('\n'), 'callNotFound()', url)
    t.match(otherErrors, [[{ code: 'FST_ERR_REP_ALREADY_SENT' }]], url)
    if (product === 'service') t.match(response.body, message)
  }
})

inBothProducts('a status that is set after the response is not that of the profile', async (t, build) => {
  const app = await build((app) => {
    app.get('/', (_request, reply) => {
      reply.send('first')
      reply.code(404).send('second')
    })
  })
  const response = await app.inject('/')
  t.same([response.statusMessage, response.body], ['OK', 'first'])
  t.equal((await profileOf(app, response)).status, 200)
})

inBothProducts('the error of an onSend hook is hidden from clients that may not see the debug surface', async (t, build, product) => {
  const app = await build(app => {
    app.addHook('onSend', async () => { throw new Error('thrown in onSend') })
    app.get('/boom', () => { throw new Error('the first one') })
  }, { debug: false })
  const { statusCode, body } = await app.inject('/boom')
  t.equal(statusCode, 500)
  // With the package this is the answer of Fastify.
  if (product === 'service') t.ok(body.includes('An Error Occurred'))
  t.equal(/thrown in onSend|the first one/.test(body), product === 'package')
  t.notMatch(body, 'failures.test.ts')
})

inBothProducts('an error of an onResponse hook does not affect the response', async (t, build) => {
  const app = await build(app => {
    app.addHook('onResponse', async () => { throw new Error('thrown in onResponse') })
    app.get('/', () => 'x')
  })
  for (let i = 0; i < 2; i++) {
    const response = await app.inject('/')
    t.same([response.statusCode, response.body], [200, 'x'])
    t.equal((await profileOf(app, response)).status, 200)
  }
})

inBothProducts('invalid requests are answered with a client error and its reason', async (t, build) => {
  const app = await build(app => {
    app.post('/', {
      schema: {
        body: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
        querystring: { type: 'object', properties: { n: { type: 'integer' } } }
      }
    }, () => 'x')
    app.post('/any', () => 'x')
  }, {}, { bodyLimit: 100 })
  const json = { 'content-type': 'application/json' }
  for (const [name, request, status, code, message] of [
    ['schema of the body', { url: '/', payload: '{}', headers: json }, 400, 'FST_ERR_VALIDATION', "body must have required property 'name'"],
    ['schema of the query', { url: '/?n=x', payload: '{"name":"a"}', headers: json }, 400, 'FST_ERR_VALIDATION', 'querystring/n must be integer'],
    ['malformed JSON', { url: '/any', payload: '{"a":', headers: json }, 400, undefined, /JSON/],
    ['empty JSON', { url: '/any', payload: '', headers: json }, 400, 'FST_ERR_CTP_EMPTY_JSON_BODY', /empty/],
    ['prototype poisoning', { url: '/any', payload: '{"__proto__":{"a":1}}', headers: json }, 400, 'FST_ERR_CTP_INVALID_JSON_BODY', /JSON/],
    [
      'too large', { url: '/any', payload: JSON.stringify({ a: 'x'.repeat(200) }), headers: json }, 413, 'FST_ERR_CTP_BODY_TOO_LARGE',
      'Request body is too large'
    ],
    [
      'media type', { url: '/any', payload: '<a/>', headers: { 'content-type': 'application/xml' } }, 415, 'FST_ERR_CTP_INVALID_MEDIA_TYPE',
      /Unsupported Media Type/
    ],
    ['odd media type', { url: '/any', payload: 'x', headers: { 'content-type': ';;;' } }, 415, 'FST_ERR_CTP_INVALID_MEDIA_TYPE', /Unsupported Media Type/]
  ] as const) {
    const response = await app.inject({ method: 'POST', ...request })
    t.equal(response.statusCode, status, name)
    const profile = await profileOf(app, response)
    const exception = profile.exceptions.at(-1)
    if (code !== undefined) t.equal(exception?.code, code, name)
    t.match(exception?.message, message, name)
    t.match(profile.route, { pattern: request.url.split('?')[0] })
  }
})

inBothProducts('an incomplete body is refused', async (t, build) => {
  const app = await build(app => app.post('/', () => 'x'))
  const port = await listen(app)
  const long = await raw(port, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n')
  t.equal(statusOf(long), 413, 'refused by its announced length')
})

inBothProducts('a response that does not match its schema is a failure', async (t, build) => {
  const app = await build(app => {
    app.get('/', { schema: { response: { 200: { type: 'object', required: ['a'], properties: { a: { type: 'string' } } } } } }, () => ({}))
    app.get('/circular', () => { const a: Record<string, unknown> = {}; a.a = a; return a })
    app.get('/bigint', () => ({ a: 1n }))
    app.get('/number', (_request, reply) => reply.type('text/plain').send(5 as unknown as string))
  })
  t.match(await outcomeOf(app, { url: '/' }), { status: 500, chain: ['Error: "a" is required!'] })
  t.match((await outcomeOf(app, { url: '/circular' })).chain[0], /circular/i)
  t.match((await outcomeOf(app, { url: '/bigint' })).chain[0], /BigInt/)
  t.match((await outcomeOf(app, { url: '/number' })).chain[0], 'Attempted to send payload of invalid type')
})

inBothProducts('a failing stream is recorded', async (t, build) => {
  const app = await build(app => {
    app.get('/before', (_request, reply) => reply.send(new Readable({ read () { this.destroy(new Error('failed before the first octet')) } })))
    app.get('/late', (_request, reply) => {
      let sent = false
      return reply.send(new Readable({
        read () {
          if (sent) setTimeout(() => this.destroy(new Error('failed after the first octet')), 10)
          else { sent = true; this.push('the beginning') }
        }
      }))
    })
  })
  const port = await listen(app)
  const before = await get(port, '/before', { Accept: 'text/html' })
  t.equal(statusOf(before), 500)
  t.match(before, /<!doctype html>/i, 'the error that replaces the stream has a page')
  t.ok(before.includes('failed before the first octet'))
  const late = await get(port, '/late')
  t.equal(statusOf(late), 200)
  t.ok(late.includes('the beginning'))
  t.notOk(late.endsWith('0\r\n\r\n'), 'the client sees that the response is incomplete')
  let profile = await newest(app)
  for (; !profile.url.endsWith('/late'); profile = await newest(app)) await later()
  t.equal(profile.status, 200, 'which had been sent')
  t.same(chainOf(profile.exceptions), ['Error: failed after the first octet'])
  t.ok(JSON.stringify(profile.logs).includes('failed after the first octet'), 'the log has the reason')
})

/** The profile of the only request, when it is stored. */
async function firstProfile (app: FastifyInstance): Promise<Profile> {
  for (;;) {
    const found = await app.hindsight.profiler.latest()
    if (found !== undefined) return await newest(app)
    await later()
  }
}

inBothProducts('a request that the client aborts is recorded with status 499', async (t, build, product) => {
  let arrived: () => void = () => {}
  let left: () => void = () => {}
  const app = await build(app => app.get('/', async () => {
    arrived()
    await new Promise<void>(resolve => { left = resolve })
    return 'x'
  }))
  const port = await listen(app)
  const waiting = new Promise<void>(resolve => { arrived = resolve })
  const socket = connect(port, '127.0.0.1', () => socket.write('GET /?slow HTTP/1.1\r\nHost: localhost\r\n\r\n'))
  await waiting
  socket.destroy()
  const gone = await firstProfile(app)
  t.equal(gone.status, 499)
  t.same(chainOf(gone.exceptions), ['ClientGoneError: The client closed the connection before the response was sent'])
  t.same(gone.exceptions[0]?.frames, [], 'calls of Node.js and Hindsight have no reason')
  if (product === 'service') t.ok(gone.logs.some(({ message }) => message === 'The client closed the connection before the response was sent'))
  left()
  await new Promise(resolve => setTimeout(resolve, 30))
  const after = await newest(app)
  t.same([after.token, after.status], [gone.token, 499], 'the request has one profile')
  t.equal((await app.hindsight.profiler.search({ limit: 10 })).profiles.length, 1)
})

inBothProducts('a request that is aborted before its body is complete is recorded with status 499', async (t, build) => {
  const app = await build(app => app.post('/', () => 'x'))
  const port = await listen(app)
  const socket = connect(
    port, '127.0.0.1', () => socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nbeginning')
  )
  await once(app.server, 'request')
  await later()
  socket.destroy()
  const profile = await firstProfile(app)
  t.equal(profile.status, 499)
  t.match(profile.route, { pattern: '/' })
  t.equal((await app.hindsight.profiler.search({ limit: 10 })).profiles.length, 1)
})

inBothProducts('a hijacked reply is not changed', async (t, build) => {
  const app = await build(app => {
    app.get('/', (_request, reply) => { reply.hijack(); reply.raw.end('raw') })
    app.get('/boom', async (_request, reply) => { reply.hijack(); reply.raw.end('raw'); throw new Error('after it') })
  })
  for (const url of ['/', '/boom']) t.match(await app.inject(url), { statusCode: 200, body: 'raw' }, url)
})

inBothProducts('the error handler of the application answers', async (t, build) => {
  const app = await build(async app => {
    await app.register(async scope => {
      scope.setErrorHandler((error: Error, _request: FastifyRequest, reply: FastifyReply) => reply.code(418).send({ mine: error.message }))
      scope.get('/mine', () => { throw new Error('boom') })
    })
    app.get('/ours', () => { throw new Error('boom') })
  })
  const mine = await app.inject('/mine')
  t.same([mine.statusCode, mine.json()], [418, { mine: 'boom' }])
  t.equal((await profileOf(app, mine)).status, 418)
  t.equal((await app.inject('/ours')).statusCode, 500)
})

inBothProducts('concurrent failures have separate reports', async (t, build) => {
  const app = await build(app => app.get('/:n', async request => {
    await later()
    throw new Error(`failure ${(request.params as { n: string }).n}`)
  }))
  await Promise.all(Array.from({ length: 50 }, async (_, n) => {
    const response = await app.inject(`/${n}`)
    const profile = await profileOf(app, response)
    t.same(chainOf(profile.exceptions), [`Error: failure ${n}`])
    t.ok(profile.url.endsWith(`/${n}`))
  }))
})

inBothProducts('two applications in one process share no profiles and no options', async (t, build) => {
  const routes = (name: string) => (app: FastifyInstance) => {
    app.get('/boom', request => { request.log.info(`log of ${name}`); throw new Error(`boom of ${name}`) })
  }
  const one = await build(routes('one'))
  const two = await build(routes('two'), { debug: false })
  const three = await build(routes('three'))
  const answers = await Promise.all([one, two, three, one].map(app => app.inject('/boom')))
  const profile = await profileOf(one, answers[0] as { headers: Record<string, unknown> })
  t.ok(JSON.stringify(profile.logs).includes('log of one'))
  t.notOk(JSON.stringify(profile).includes('of three'))
  t.notMatch(answers[1]?.body, 'failures.test.ts', 'one of them is in production')
  t.equal(answers[1]?.headers['x-debug-token'], undefined)
  t.equal((await one.hindsight.profiler.search({ limit: 10 })).profiles.length, 2)
  t.equal((await three.hindsight.profiler.search({ limit: 10 })).profiles.length, 1)
  await one.close()
  t.ok((await three.inject('/boom')).body.includes('boom of three'), 'and outlive each other')
})

inBothProducts('an error that is raised again for the answer is no hint', async (t, build) => {
  const app = await build((app) => app.get('/', { onSend: async () => { throw new Error('not sent') } }, async () => 'x'))
  const profile = await profileOf(app, await app.inject('/'))
  t.same(chainOf(profile.exceptions), ['Error: not sent'])
  t.notMatch(profileMarkdown(profile), /^## Hint/m)
})
