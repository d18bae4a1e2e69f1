import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http, { type RequestOptions } from 'node:http'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Ajv } from 'ajv'
import type { FastifyInstance } from 'fastify'
import { observe } from '../../../src/queries/observe.js'

/** A request that never ends. Lines of this file are named by the comments at their ends. */
export interface Hang {
  name: string
  /** Adds a route at `/`, in a scope of its own. */
  declare: (app: FastifyInstance) => unknown
  /** The code that the request is in, and its line. */
  in: string
  at: string
  /** The kind and the line of what it waits for, as far as that is recorded in any case. */
  pending?: readonly [kind: string, line: string]
  /** What it waits for besides, with traced waits. */
  traced?: readonly [kind: string, line: string]
  /** Whether the package does not trace it: Node.js reads the body outside of the asynchronous context of the request. */
  isUntracedByPackage?: boolean
  /** The path below that of the scope, and the request; by default GET. */
  request?: RequestOptions
  body?: string
}

const HANDLER = 'the handler'
const NOT_FOUND = 'the not-found handler or its preHandler hook'
const UNKNOWN = { path: '/unknown' }
const POST = { method: 'POST', headers: { 'content-type': 'text/csv' } }

/** A lock that is never released. */
const lock = { acquire: (): Promise<void> => new Promise(() => {}) }

async function updateStock (): Promise<void> {
  await sleep(1)
  await lock.acquire() // lock-traced
}

/** The pool of pg, with the shape that is recognized, and without a free connection. */
function pool () {
  const pool = {
    totalCount: 10,
    waitingCount: 0,
    connect: (): Promise<object> => new Promise(() => {}),
    query: async (_text: string): Promise<unknown> => await pool.connect() // pool-traced
  }
  return observe(pool)
}

async function silentServer (app: FastifyInstance): Promise<number> {
  const sockets: Socket[] = []
  const server = createServer((socket) => { sockets.push(socket) }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  app.addHook('onClose', async () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return (server.address() as AddressInfo).port
}

export const HANGS: readonly Hang[] = [
  {
    name: 'a hook that never calls done',
    declare (app) {
      app.addHook('preHandler', function authenticate (_request, _reply, _done) {}) // hook
      app.get('/', () => 'never')
    },
    in: 'the preHandler hook authenticate',
    at: 'hook'
  },
  {
    name: 'an asynchronous hook whose promise never settles',
    declare (app) {
      app.addHook('onRequest', async function loadUser () { // hook-async
        await new Promise(() => {}) // hook-async-traced
      })
      app.get('/', () => 'never')
    },
    in: 'the onRequest hook loadUser',
    at: 'hook-async',
    traced: ['await', 'hook-async-traced']
  },
  {
    name: 'a handler whose promise never settles',
    declare (app) {
      app.get('/', function show () { // handler
        return new Promise(() => {}) // handler-traced
      })
    },
    in: HANDLER,
    at: 'handler',
    traced: ['promise', 'handler-traced']
  },
  {
    name: 'a lock that is never released',
    declare (app) {
      app.get('/', async function buy () { // lock
        await updateStock()
      })
    },
    in: HANDLER,
    at: 'lock',
    traced: ['await', 'lock-traced']
  },
  {
    name: 'a pool without free connections',
    declare (app) {
      const database = pool()
      app.get('/', async function list () { // pool
        return await database.query('select * from articles') // query
      })
    },
    in: HANDLER,
    at: 'pool',
    pending: ['query', 'query'],
    traced: ['await', 'pool-traced']
  },
  {
    name: 'an outgoing call whose server does not answer',
    async declare (app) {
      const port = await silentServer(app)
      app.get('/', function proxy (_request, reply) { // call
        const call = http.get({ host: '127.0.0.1', port, path: '/stock?api_key=secret-of-the-stock' }) // call-sent
        call.on('error', () => reply.send('gone'))
      })
    },
    in: HANDLER,
    at: 'call',
    pending: ['outgoing HTTP call', 'call-sent']
  },
  {
    name: 'a stream without a reader',
    declare (app) {
      app.get('/', async function upload () { // stream
        const file = new PassThrough({ highWaterMark: 1 })
        await pipeline([Buffer.alloc(100_000), Buffer.alloc(100_000)], file) // stream-traced
      })
    },
    in: HANDLER,
    at: 'stream',
    traced: ['await', 'stream-traced']
  },
  {
    name: 'a response whose stream never ends',
    declare (app) {
      app.get('/', function download (_request, reply) { // body
        const body = new PassThrough()
        body.write('begun')
        reply.send(body)
      })
    },
    in: 'the response, whose PassThrough has not ended',
    at: 'body'
  },
  {
    name: 'a response whose stream yields nothing',
    declare (app) {
      app.get('/', { preHandler: async () => {} }, (_request, reply) => reply.send(new Readable({ read () {} }))) // silent
    },
    in: 'the response, whose Readable has sent nothing',
    at: 'silent'
  },
  {
    name: 'an await of the reply before it is sent',
    declare (app) {
      app.get('/', async function show (_request, reply) { // reply
        await reply // reply-traced
        return 'never'
      })
    },
    in: HANDLER,
    at: 'reply',
    traced: ['await', 'reply-traced']
  },
  {
    name: 'a timer that is very long',
    declare (app) {
      app.get('/', async function wait () { // timer
        await sleep(3_600_000, undefined, { ref: false }) // timer-traced
      })
    },
    in: HANDLER,
    at: 'timer',
    traced: ['timer', 'timer-traced']
  },
  {
    name: 'a reply that is hijacked and never ended',
    declare (app) {
      app.get('/', function hijack (_request, reply) { // hijack
        reply.hijack()
      })
    },
    in: 'a hijacked reply that has not ended',
    at: 'hijack'
  },
  {
    name: 'a hook that hijacks the reply and never ends it',
    declare (app) {
      app.addHook('preHandler', async function upgrade (_request, reply) { reply.hijack() }) // hijack-hook
      app.get('/', () => 'never')
    },
    in: 'the preHandler hook upgrade, whose hijacked reply has not ended',
    at: 'hijack-hook'
  },
  {
    name: 'a preHandler hook of a route that never calls done',
    declare (app) {
      app.get('/', { preHandler: (_request, _reply, _done) => {} }, function show () { return 'never' }) // pre-handler
    },
    in: 'the handler or a preHandler hook of its route',
    at: 'pre-handler'
  },
  {
    name: 'an error handler that never answers',
    declare (app) {
      app.setErrorHandler(() => new Promise(() => {})) // error-handler-traced
      app.get('/', () => { throw new Error('no') })
    },
    in: 'the error handler',
    at: '',
    traced: ['promise', 'error-handler-traced']
  },
  {
    name: 'an error handler of a route that never answers',
    declare (app) {
      app.get('/', { errorHandler (_error, _request, _reply) {} }, () => { throw new Error('no') }) // error-handler-route
    },
    in: 'the error handler',
    at: 'error-handler-route'
  },
  {
    name: 'an error handler within another one',
    declare (app) {
      app.setErrorHandler((_error, _request, reply) => reply.send('failed'))
      app.register(async (inner) => {
        inner.setErrorHandler((_error, _request, _reply) => {})
        inner.get('/', () => { throw new Error('no') })
      })
    },
    in: 'the error handler',
    at: ''
  },
  {
    name: 'an error handler of a route before those of its instances',
    declare (app) {
      app.setErrorHandler((_error, _request, reply) => reply.send('failed'))
      app.get('/', { errorHandler (_error, _request, _reply) {} }, () => { throw new Error('no') }) // error-handler-first
    },
    in: 'the error handler',
    at: 'error-handler-first'
  },
  {
    name: 'an error handler around one that throws',
    declare (app) {
      app.setErrorHandler((_error, _request, _reply) => {})
      app.register(async (inner) => {
        inner.setErrorHandler((error) => { throw error })
        inner.get('/', () => { throw new Error('no') })
      })
    },
    in: 'the error handler',
    at: ''
  },
  {
    name: 'an onError hook of a route that never calls done',
    declare (app) {
      app.get('/', { onError (_request, _reply, _error, _done) {} }, () => { throw new Error('no') })
    },
    in: 'the error handler or an onError hook of the route',
    at: ''
  },
  {
    name: 'an onError hook of a route before an error handler',
    declare (app) {
      app.setErrorHandler((_error, _request, reply) => reply.send('failed'))
      app.get('/', { onError (_request, _reply, _error, _done) {} }, () => { throw new Error('no') })
    },
    in: 'the error handler or an onError hook of the route',
    at: ''
  },
  {
    name: 'a not-found handler that never answers',
    declare (app) {
      app.setNotFoundHandler((_request, _reply) => {})
    },
    request: UNKNOWN,
    in: NOT_FOUND,
    at: ''
  },
  {
    name: 'a not-found handler whose promise never settles, for a request with a body',
    declare (app) {
      app.setNotFoundHandler(async function lost () {
        await new Promise(() => {}) // not-found-traced
      })
    },
    request: { ...POST, ...UNKNOWN, headers: { 'content-type': 'application/json' } },
    body: '{}',
    in: NOT_FOUND,
    at: '',
    traced: ['await', 'not-found-traced']
  },
  {
    name: 'a not-found handler that a handler has called',
    declare (app) {
      app.setNotFoundHandler((_request, _reply) => {})
      app.get('/', (_request, reply) => { reply.callNotFound() })
    },
    in: NOT_FOUND,
    at: ''
  },
  {
    name: 'a preHandler hook of a not-found handler',
    declare (app) {
      app.setNotFoundHandler({ preHandler (_request, _reply, _done) {} }, () => 'never')
    },
    request: UNKNOWN,
    in: NOT_FOUND,
    at: ''
  },
  {
    name: 'a preValidation hook of a not-found handler',
    declare (app) {
      app.setNotFoundHandler({ preValidation (_request, _reply, _done) {} }, () => 'never')
    },
    request: UNKNOWN,
    in: 'the preValidation hook of the not-found handler',
    at: ''
  },
  {
    name: 'a content-type parser that never calls back',
    declare (app) {
      app.addContentTypeParser('text/csv', { parseAs: 'string' }, (_request, _body, _done) => {})
      app.post('/', () => 'never')
    },
    request: POST,
    body: 'a,b',
    in: 'the content-type parser',
    at: ''
  },
  {
    name: 'a content-type parser whose promise never settles',
    declare (app) {
      app.addContentTypeParser('text/csv', { parseAs: 'string' }, async () => {
        await new Promise(() => {}) // parser-traced
      })
      app.post('/', () => 'never')
    },
    request: POST,
    body: 'a,b',
    in: 'the content-type parser',
    at: '',
    traced: ['await', 'parser-traced'],
    isUntracedByPackage: true
  },
  {
    name: 'an asynchronous preHandler hook of a not-found handler',
    declare (app) {
      app.setNotFoundHandler({ preHandler: async () => { await new Promise(() => {}) } }, () => 'never') // not-found-hook-traced
    },
    request: UNKNOWN,
    in: NOT_FOUND,
    at: '',
    traced: ['await', 'not-found-hook-traced']
  },
  {
    name: 'a content-type parser that does not read a large body',
    declare (app) {
      app.addContentTypeParser('text/csv', (_request, _stream, _done) => {})
      app.post('/', () => 'never')
    },
    request: POST,
    body: 'a,b'.repeat(100_000),
    in: 'the content-type parser',
    at: ''
  },
  {
    name: 'a stream of a preParsing hook that never ends',
    declare (app) {
      app.addContentTypeParser('text/csv', { parseAs: 'string' }, (_request, body, done) => { done(null, body) })
      app.addHook('preParsing', async () => new PassThrough())
      app.post('/', () => 'never') // pre-parsing
    },
    request: POST,
    body: 'a,b',
    in: 'the content-type parser, or the stream that a preParsing hook returned',
    at: 'pre-parsing'
  },
  {
    name: 'a validator whose promise never settles',
    declare (app) {
      const compile = () => () => new Promise<never>(() => {}) // validator-traced
      app.get('/', { validatorCompiler: compile as never, schema: { querystring: {} } }, () => 'never') // validator
    },
    in: 'the validator of the querystring',
    at: 'validator',
    traced: ['promise', 'validator-traced']
  },
  {
    name: 'a schema of ajv that waits, beside others',
    declare (app) {
      const ajv = new Ajv()
      ajv.addKeyword({ keyword: 'known', async: true, validate: () => new Promise(() => {}) }) // ajv-traced
      const schema = { querystring: { $async: true, known: true }, headers: { type: 'object' } }
      app.get('/', { validatorCompiler: ({ schema }) => ajv.compile(schema) as never, schema }, () => 'never') // ajv
    },
    in: 'the validator of the querystring',
    at: 'ajv',
    traced: ['promise', 'ajv-traced']
  },
  {
    name: 'a trailer that is never given',
    declare (app) {
      app.get('/', (_request, reply) => { // trailer
        reply.trailer('x-sum', (_reply, _payload, _done) => {})
        return reply.send('a')
      })
    },
    in: 'the response, whose trailer has not ended',
    at: 'trailer'
  },
  {
    name: 'a hook of a route that never calls done',
    declare (app) {
      app.get('/', { onRequest: async () => {}, preValidation: (_request, _reply, _done) => {} }, () => 'never') // route-hook
    },
    in: 'the preValidation hook of the route',
    at: 'route-hook'
  },
  {
    name: 'a preSerialization hook of a route that never calls done',
    declare (app) {
      function addTotals (_request: unknown, _reply: unknown, _payload: unknown, _done: unknown): void {}
      app.get('/', { preHandler: async () => {}, preSerialization: addTotals }, () => ({ sum: 1 })) // totals
    },
    in: 'the preSerialization hook addTotals of the route',
    at: 'totals'
  },
  {
    name: 'an onSend hook of a route that never calls done',
    declare (app) {
      app.get('/', { onSend: [function sign (_request, _reply, _payload, _done) {}] }, () => 'never') // sign
    },
    in: 'the onSend hook sign of the route',
    at: 'sign'
  },
  {
    name: 'one of several hooks of a route that never calls done',
    declare (app) {
      app.get('/', { preValidation: [async () => {}, (_request, _reply, _done) => {}] }, () => 'never') // several
    },
    in: 'a hook of the route',
    at: 'several'
  },
  {
    name: 'timers that nothing waits for',
    declare (app) {
      app.get('/', function watch () { // background
        setInterval(() => {}, 3_600_000).unref()
        setTimeout(() => {}, 3_600_000).unref()
        return new Promise(() => {}) // background-traced
      })
    },
    in: HANDLER,
    at: 'background',
    traced: ['promise', 'background-traced']
  }
]

const lines = readFileSync(new URL(import.meta.url), 'utf8').split('\n')

/** The place of the line with a name, `file:line`; null without a name. */
export function placeOf (name: string): string | null {
  return name === '' ? null : `${new URL(import.meta.url).pathname}:${lines.findIndex((line) => line.endsWith(` // ${name}`)) + 1}`
}
