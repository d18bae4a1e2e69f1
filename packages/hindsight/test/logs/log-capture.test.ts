import { hasSubscribers, subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Agent, get, type IncomingHttpHeaders } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import Fastify, { LogController } from 'fastify'
import pino from 'pino'
import t, { type Test } from 'tap'
import type { AddressInfo } from 'node:net'
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest, FastifyServerOptions } from 'fastify'
import { hindsight } from '../../src/hindsight.js'
import type { EventRecorder } from '../../src/recording/event-recorder.js'
import { traceOf } from '../../src/recording/trace.js'
import { LogCapture } from '../../src/logs/log-capture.js'
import { capturing, output } from './capturing.js'
import { Writable } from 'node:stream'
import type { Profile } from '../../src/store/profile.js'
import { listen, profileOf } from '../support/app.js'
import { testdir } from '../support/folder.js'
import { inBothProducts, PRODUCTS } from '../support/products.js'

interface Line { level: number, msg: string, reqId?: string, [field: string]: unknown }

/** A destination, and the lines that came to it. */
function sink (): { stream: Writable, lines: Line[] } {
  const lines: Line[] = []
  const stream = new Writable({ write (chunk, _encoding, done) { lines.push(JSON.parse(String(chunk)) as Line); done() } })
  return { stream, lines }
}

const messages = ({ logs }: Profile): string[] => logs.filter(({ channel }) => channel === 'app').map(({ message }) => message)
const withLogger = (level: string, stream: Writable, more = {}) => ({ logger: { level, stream, ...more } }) as FastifyServerOptions

type Write = (log: FastifyBaseLogger, text: string, calls: number) => void

/** A function of a package that writes a line below so many calls of its own. */
function wrapperOf (t: Test): Write {
  const code = 'exports.write = function write (log, text, calls) { return calls > 1 ? write(log, text, calls - 1) : log.info(text) }'
  const file = join(testdir(t, { node_modules: { wrapper: { 'index.cjs': code } } }), 'node_modules/wrapper/index.cjs')
  return (createRequire(file)(file) as { write: Write }).write
}

inBothProducts('a line has the place that wrote it, also below eight calls of a package: nestjs-pino has six', async (t, build) => {
  const write = wrapperOf(t)
  const app = await build((app) => {
    const add = (text: string) => write(app.log, text, 8)
    app.get('/', async (request) => {
      request.log.info('direct')
      write(request.log, 'wrapped', 8)
      await sleep(1)
      request.log.child({ a: 1 }).warn('after a wait')
      add('of the application')
      return {}
    })
  })
  const { logs } = await profileOf(app, await app.inject('/'))
  const written = logs.filter(({ channel }) => channel === 'app').map(({ message, source }) => [message, source?.replace(/:\d+$/, '')])
  const first = Number(/:(\d+)$/.exec(String(written[0]?.[1]))?.[1])
  const lines = [['direct', 0], ['wrapped', 1], ['after a wait', 3], ['of the application', -2]] as const
  t.same(written, lines.map(([text, offset]) => [text, `${import.meta.filename}:${first + offset}`]))
})

inBothProducts('each of many lines has the place that wrote it: fewer frames are searched then', async (t, build) => {
  const write = wrapperOf(t)
  const app = await build((app) => {
    const help = (log: FastifyBaseLogger, i: number): void => log.info(`helper ${i}`)
    app.get('/:calls', ({ log, params }) => {
      for (let i = 0; i < 30; i++) {
        log.info(`first ${i}`)
        log.info(`second ${i}`)
        help(log, i)
        help(log, i)
        write(log, `near ${i}`, 1)
        write(log, `nearer ${i}`, 1)
        if (i % 4 === 3) write(log, `far ${i}`, Number((params as { calls: string }).calls))
      }
      return 'x'
    })
  })
  const offsets: Record<string, number> = { helper: -3, first: 0, second: 1, near: 4, nearer: 5, far: 6 }
  // Of the second request, lines of the package are below more calls than are searched first.
  for (const calls of [1, 8]) {
    const { logs } = await profileOf(app, await app.inject(`/${calls}`))
    const written = logs.filter(({ message }) => Object.hasOwn(offsets, message.replace(/ \d+$/, '')))
    const first = Number(/:(\d+):\d+$/.exec(String(written.find(({ message }) => message === 'first 0')?.source))?.[1])
    t.equal(written.length, 187)
    const placed = written.map(({ message, source }) => [message, source?.replace(/:\d+$/, '')])
    const expected = written.map(({ message }) =>
      [message, `${import.meta.filename}:${first + Number(offsets[message.replace(/ \d+$/, '')])}`])
    t.same(placed, expected, `${calls} calls of a package`)
  }
})

function routes (app: FastifyInstance): void {
  app.get('/', request => {
    for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) request.log[level](`a ${level} line`)
    return 'x'
  })
}

inBothProducts('the lines that the logger writes are captured, and no others', async (t, build) => {
  for (const [level, written] of [
    ['trace', ['trace', 'debug', 'info', 'warn', 'error', 'fatal']],
    ['debug', ['debug', 'info', 'warn', 'error', 'fatal']],
    ['info', ['info', 'warn', 'error', 'fatal']],
    ['warn', ['warn', 'error', 'fatal']],
    ['error', ['error', 'fatal']],
    ['fatal', ['fatal']],
    ['silent', []]
  ] as const) {
    const { stream, lines } = sink()
    const app = await build(routes, {}, withLogger(level, stream))
    const profile = await profileOf(app, await app.inject('/'))
    t.same(messages(profile), written.map(name => `a ${name} line`), level)
    t.same(lines.map(({ msg }) => msg).filter(msg => msg.startsWith('a ')), written.map(name => `a ${name} line`), `${level}: written`)
    if (level === 'warn') t.notOk(lines.some(({ level }) => level < 40), 'no other line is below the level')
    await app.close()
  }
})

inBothProducts('a profiled line has its level, channel, context and time', async (t, build) => {
  const { stream } = sink()
  const app = await build(app => app.get('/', request => {
    request.log.warn({ channel: 'billing', amount: 3, password: 'hunter2x' }, 'a %s', 'line')
    request.log.error(new TypeError('went wrong'))
    return 'x'
  }), {}, withLogger('info', stream))
  const before = Date.now()
  const { logs } = await profileOf(app, await app.inject('/'))
  const billing = logs.find(({ channel }) => channel === 'billing')
  t.match(billing, { level: 'warn', message: 'a line', context: { amount: 3, password: '******' } })
  t.ok(Math.abs(Date.parse(String(billing?.time)) - before) < 60_000)
  t.match(logs.find(({ message }) => message === 'went wrong'), { level: 'error', context: { err: { type: 'TypeError' } } })
  t.same(logs.map(({ time }) => time), logs.map(({ time }) => time).sort(), 'in the order of time')
})

inBothProducts('"incoming request" and "request completed" are attributed to their request', async (t, build) => {
  const { stream } = sink()
  const app = await build(app => app.get('/:n', () => 'x'), {}, withLogger('info', stream))
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => app.inject(`/${n}`)))
  for (const [n, answer] of answers.entries()) {
    const { logs } = await profileOf(app, answer)
    t.match(
      logs.filter(({ channel, message }) => channel === 'request' && message === 'incoming request').map(({ context }) => (context.req as { url: string }).url),
      [`/${n}`]
    )
    t.equal(logs.filter(({ message }) => message === 'request completed').length, 1)
  }
})

inBothProducts('"request completed" is captured as it was written, with any options of the logger', async (t, build) => {
  const loggers: Record<string, { more: object, context: (line: Line) => object, message?: string }> = {
    'as it comes': { more: {}, context: ({ responseTime }) => ({ res: { statusCode: 200 }, responseTime }) },
    'a serializer': { more: { serializers: { res: () => ({ by: 'us' }) } }, context: ({ responseTime }) => ({ res: { by: 'us' }, responseTime }) },
    'a mixin': { more: { mixin: () => ({ part: 'shop' }) }, context: ({ responseTime }) => ({ part: 'shop', res: { statusCode: 200 }, responseTime }) },
    bindings: { more: { base: { service: 'shop' } }, context: ({ responseTime }) => ({ service: 'shop', res: { statusCode: 200 }, responseTime }) },
    redacted: { more: { redact: ['res.statusCode'] }, context: ({ responseTime }) => ({ res: { statusCode: '[Redacted]' }, responseTime }) },
    'another key of the message': { more: { messageKey: 'text' }, context: ({ responseTime }) => ({ res: { statusCode: 200 }, responseTime }) }
  }
  for (const [name, { more, context }] of Object.entries(loggers)) {
    const { stream, lines } = sink()
    const app = await build(app => app.get('/', () => 'x'), {}, withLogger('info', stream, more))
    const { logs } = await profileOf(app, await app.inject('/'))
    const written = lines.find(({ responseTime }) => responseTime !== undefined) as Line
    const [completed, ...others] = logs.filter(({ context }) => context.responseTime !== undefined)
    t.same(others, [], name)
    t.same(completed?.context, context(written), name)
    t.match(completed, { level: 'info', channel: 'request', message: 'request completed' }, name)
    await app.close()
  }
})

inBothProducts('lines have their levels, channels and messages with any options of the logger', async (t, build) => {
  const levels = { trace: 6, debug: 5, info: 4, warn: 3, error: 2, fatal: 1 }
  const loggers: Record<string, object> = {
    messageKey: { messageKey: 'text' },
    'a messageKey that is the name of a field': { messageKey: 'order' },
    errorKey: { errorKey: 'error' },
    nestedKey: { nestedKey: 'payload' },
    customLevels: { customLevels: { audit: 35 } },
    'levels with other numbers': { customLevels: { trace: 1, debug: 2, info: 3, warn: 4, error: 5, fatal: 6 }, useOnlyCustomLevels: true },
    'descending levels': { customLevels: levels, useOnlyCustomLevels: true, levelComparison: 'DESC' },
    'a timestamp': { timestamp: () => ',"at":"now"' },
    'no timestamp': { timestamp: false, base: null },
    'formatters of levels': { formatters: { level: (severity: string) => ({ severity }) } },
    'formatters of fields': { formatters: { log: (fields: object) => ({ fields }) } }
  }
  for (const [name, more] of Object.entries(loggers)) {
    const app = await build((app) => app.get('/', (request) => {
      request.log.info({ order: 7 }, 'order found')
      request.log.child({ channel: 'billing' }).warn('not paid')
      request.log.error(new Error('lost'))
      request.log.info(5 as unknown as string)
      return 'x'
    }), {}, withLogger('info', sink().stream, more))
    const { logs } = await profileOf(app, await app.inject('/'))
    t.same(logs.filter(({ channel, level }) => channel !== 'event' && level !== 'debug').map(({ level, channel, message }) => [level, channel, message]), [
      ['info', 'request', 'incoming request'],
      ['info', 'app', 'order found'],
      ['warn', 'billing', 'not paid'],
      ['error', 'app', 'lost'],
      ['info', 'app', '5'],
      ['info', 'request', 'request completed']
    ], name)
    await app.close()
  }
})

inBothProducts('the lines that a log controller of the application writes first are those of the request', async (t, build) => {
  class Own extends LogController {
    override incomingRequest (request: FastifyRequest): void {
      request.server.log.info({ req: request }, 'seen')
      request.log.info(`-> ${request.url}`)
      request.log.info({ id: request.id }, 'accepted')
    }
  }
  const app = await build((app) => {
    app.get('/:n', async (request) => {
      if (request.url === '/parent') await app.inject('/child')
      return 'x'
    })
  }, {}, { ...withLogger('info', sink().stream), logController: new Own() })
  const port = await listen(app)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  for (const path of ['/1', '/2', '/parent']) {
    const headers = await new Promise<IncomingHttpHeaders>((resolve, reject) => {
      get({ port, path, agent }, (response) => response.resume().on('end', () => resolve(response.headers))).on('error', reject)
    })
    await profileOf(app, { headers })
  }
  // A search waits at most a second for the store, whose thread may start for longer.
  await app.hindsight.profiler.flush()
  const { profiles } = await app.hindsight.profiler.search({ limit: 9 })
  t.equal(profiles.length, 4)
  for (const { token, url } of profiles) {
    const { logs = [] } = await app.hindsight.profiler.find(token) ?? {}
    const shown = logs.filter(({ level }) => level === 'info').map(({ message }) => message)
    t.same(shown, ['seen', `-> ${new URL(url).pathname}`, 'accepted', 'request completed'])
  }
})

inBothProducts('lines of the application with the texts of Fastify are masked', async (t, build) => {
  const app = await build(app => app.get('/', request => {
    request.log.info({ res: { statusCode: { password: 'hunter2x' } }, responseTime: 1 }, 'request completed')
    return 'x'
  }), {}, withLogger('info', sink().stream))
  const { logs } = await profileOf(app, await app.inject('/'))
  t.equal(logs.filter(({ message }) => message === 'request completed').length, 2)
  t.notMatch(JSON.stringify(logs), 'hunter2x')
})

inBothProducts('lines of child loggers, and of `app.log` inside a request, are captured', async (t, build) => {
  const { stream, lines } = sink()
  const app = await build(app => app.get('/', async request => {
    request.log.child({ part: 'child' }).info('from a child')
    request.log.child({}, { level: 'error' }).warn('below its own level')
    app.log.info('from the application')
    await new Promise(resolve => setTimeout(resolve, 5))
    app.log.child({ part: 'other' }).warn('from its child, later')
    return 'x'
  }), {}, withLogger('info', stream))
  app.log.info('outside of any request')
  const profile = await profileOf(app, await app.inject('/'))
  t.same(messages(profile), ['from a child', 'from the application', 'from its child, later'])
  t.match(profile.logs.find(({ message }) => message === 'from a child')?.context, { part: 'child' })
  t.ok(lines.some(({ msg }) => msg === 'outside of any request'))
  for (const message of messages(profile)) t.equal(lines.filter(({ msg }) => msg === message).length, 1, `${message}: written once`)
})

inBothProducts('the lines of concurrent requests are separate', async (t, build) => {
  const { stream } = sink()
  const app = await build(app => app.get('/:n', async request => {
    const { n } = request.params as { n: string }
    for (let i = 0; i < 3; i++) {
      request.log.info(`request ${n}`)
      await new Promise(resolve => setTimeout(resolve, Number(n) % 7))
      app.log.info(`application for ${n}`)
      await Promise.resolve()
    }
    return n
  }), {}, withLogger('info', stream))
  await Promise.all(Array.from({ length: 200 }, async (_, n) => {
    const profile = await profileOf(app, await app.inject(`/${n}`))
    t.same(messages(profile), Array.from({ length: 3 }, () => [`request ${n}`, `application for ${n}`]).flat())
  }))
})

inBothProducts('the context is the same after the body was parsed', async (t, build) => {
  const { stream } = sink()
  const app = await build(app => {
    app.addHook('preParsing', async () => { app.log.info('before the body') })
    app.post('/', async () => {
      app.log.info('behind the body')
      await new Promise(resolve => setImmediate(resolve))
      app.log.info('and later')
      return 'x'
    })
  }, {}, withLogger('info', stream))
  const profile = await profileOf(app, await app.inject({ method: 'POST', url: '/', payload: { a: 'x'.repeat(50_000) } }))
  t.same(messages(profile), ['before the body', 'behind the body', 'and later'])
})

inBothProducts('values that pino redacts are redacted in the profile', async (t, build) => {
  const { stream, lines } = sink()
  const app = await build(app => app.get('/', request => {
    request.log.info({ card: { number: '4111' } }, 'paid')
    return 'x'
  }), {}, withLogger('info', stream, { redact: ['card.number'] }))
  const { logs } = await profileOf(app, await app.inject('/'))
  t.match(logs.find(({ message }) => message === 'paid')?.context, { card: { number: '[Redacted]' } })
  t.match(lines.find(({ msg }) => msg === 'paid'), { card: { number: '[Redacted]' } })
})

inBothProducts('the levels of a custom logger are captured', async (t, build) => {
  const { stream, lines } = sink()
  const logger = pino({ level: 'error', messageKey: 'msg' }, stream)
  const app = await build(routes, {}, { logger: undefined, loggerInstance: logger } as unknown as FastifyServerOptions)
  t.same(messages(await profileOf(app, await app.inject('/'))), ['a error line', 'a fatal line'])
  t.same(lines.map(({ msg }) => msg), ['a error line', 'a fatal line'])
})

inBothProducts('the captured lines are bounded', async (t, build) => {
  const { stream, lines } = sink()
  const app = await build(app => app.get('/', request => {
    for (let i = 0; i < 12_000; i++) request.log.info(`line ${i}`)
    return 'x'
  }), {}, withLogger('info', stream))
  const profile = await profileOf(app, await app.inject('/'))
  t.ok(profile.logs.length <= 10_100, String(profile.logs.length))
  t.equal(lines.filter(({ msg }) => msg.startsWith('line ')).length, 12_000, 'the destination receives all lines')
})

inBothProducts('outside debug mode the logger is unchanged', async (t, build) => {
  const { stream, lines } = sink()
  const app = await build(routes, { debug: false }, withLogger('warn', stream))
  await app.inject('/')
  t.same(lines.map(({ msg }) => msg), ['a warn line', 'a error line', 'a fatal line'])
})

inBothProducts('the first line of a request is not attributed to the previous request of its connection', async (t, build) => {
  const app = await build((app) => app.get('/:n', async () => 'ok'), {}, { logger: { level: 'info', stream: { write: () => {} } } })
  const port = await listen(app)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  for (const path of ['/1', '/2', '/3']) {
    const headers = await new Promise<IncomingHttpHeaders>((resolve, reject) => {
      get({ port, path, agent }, (response) => response.resume().on('end', () => resolve(response.headers))).on('error', reject)
    })
    await profileOf(app, { headers })
  }
  // A search waits at most a second for the store, whose thread may start for longer.
  await app.hindsight.profiler.flush()
  const { profiles } = await app.hindsight.profiler.search({ limit: 9 })
  t.equal(profiles.length, 3)
  for (const { token, url } of profiles) {
    const lines = (await app.hindsight.profiler.find(token))?.logs.filter(({ message }) => message === 'incoming request') ?? []
    t.same(lines.map(({ context }) => (context.req as { url: string }).url), [new URL(url).pathname])
  }
})

const CHANNEL = 'tracing:pino_asJson:end'

t.test('pino publishes its lines to the diagnostics channel', async (t) => {
  const published: unknown[] = []
  const collect = (message: unknown): void => { published.push(message) }
  subscribe(CHANNEL, collect)
  t.teardown(() => unsubscribe(CHANNEL, collect))
  const logger = pino({ base: null, timestamp: false }, { write () {} })
  logger.warn({ a: 1 }, 'said')
  unsubscribe(CHANNEL, collect)
  const [message] = published as Array<{ instance: unknown, arguments: unknown[], result: unknown }>
  if (message === undefined) {
    return t.fail(
      `pino ${pino.version} no longer publishes to the diagnostics channel "${CHANNEL}", by which logs/log-capture.ts captures log lines: profiles would ` +
      'have none'
    )
  }
  t.equal(message.instance, logger, `the message of "${CHANNEL}" no longer has the logger as its "instance"`)
  t.same([...message.arguments].slice(0, 3), [{ a: 1 }, 'said', 40], `the "arguments" of "${CHANNEL}" are no longer fields, message and level`)
  t.equal(message.result, '{"level":40,"a":1,"msg":"said"}\n', `the "result" of "${CHANNEL}" is no longer the line`)
})

inBothProducts('lines of a pino logger of the application and of its children are captured', async (t, _build, product) => {
  const { stream } = output()
  const logger = pino({ level: 'info', base: { service: 'shop' } }, stream)
  const { app, linesOf, messagesOf } = await capturing(t, { loggerInstance: logger }, (app) => app.get('/', (request) => {
    request.log.debug('below the level')
    request.log.info('own')
    request.log.child({ part: 'child' }).child({ piece: 'grandchild' }).warn('of a child')
    logger.error('of the instance that was given')
    app.log.info('of the application')
    pino({}, stream).info('of a module')
    return 'x'
  }), { product })
  const written = ['own', 'of a child', 'of the instance that was given', 'of the application', 'of a module']
  await app.inject('/')
  t.same(messagesOf('/'), written, product)
  t.match(linesOf('/').find(({ message }) => message === 'of a child')?.context, { service: 'shop', part: 'child', piece: 'grandchild' })
  t.same(linesOf('/').map(({ message }) => message).filter((message) => message.startsWith('request') || message.startsWith('incoming')),
    ['incoming request', 'request completed'])
  await app.close()
})

inBothProducts('a pino logger of the application keeps its identity and level', async (t, _build, product) => {
  const { stream } = output()
  let seen: unknown
  const { app } = await capturing(t, { logger: { level: 'warn', stream } }, (app) => app.get('/', (request) => {
    t.equal(request.log, seen)
    t.equal(request.log.level, 'warn')
    return 'x'
  }), { product, before: (app) => app.addHook('onRequest', async (request) => { seen = request.log }) })
  t.equal((await app.inject('/')).statusCode, 200)
  await app.close()
})

t.test('the lines of a request are captured before it fails', async (t) => {
  const { stream } = output()
  const { app, linesOf } = await capturing(t, { logger: { level: 'info', stream } }, (app) => app.get('/', async (request) => {
    request.log.debug('not written')
    await sleep(1)
    request.log.info('own')
    request.log.child({ part: 'child' }).info('of a child')
    app.log.info('a line of no request')
    return 'x'
  }), { reserve: true })
  await app.inject('/')
  t.same(linesOf('/').map(({ message }) => message), ['incoming request', 'own', 'of a child', 'request completed'])
  await app.close()
  const silent = await capturing(t, { logger: false }, (app) => app.get('/', () => 'x'), { reserve: true })
  await silent.app.inject('/')
  t.notOk(silent.capture.hasPinoLogger)
  t.same(silent.linesOf('/'), [], 'no line of a disabled logger is kept')
  await silent.app.close()
})

class PrivateLogger {
  readonly #pino: pino.Logger
  #calls = 0
  constructor (logger: pino.Logger) { this.#pino = logger }
  get level (): string { return this.#pino.level }
  set level (level: string) { this.#pino.level = level }
  get calls (): number { return this.#calls }
  trace (...args: unknown[]): void { this.#calls++; this.#pino.trace(...args as [string]) }
  debug (...args: unknown[]): void { this.#calls++; this.#pino.debug(...args as [string]) }
  info (...args: unknown[]): void { this.#calls++; this.#pino.info(...args as [string]) }
  warn (...args: unknown[]): void { this.#calls++; this.#pino.warn(...args as [string]) }
  error (...args: unknown[]): void { this.#calls++; this.#pino.error(...args as [string]) }
  fatal (...args: unknown[]): void { this.#calls++; this.#pino.fatal(...args as [string]) }
  child (bindings: object): PrivateLogger { return new PrivateLogger(this.#pino.child(bindings)) }
}

inBothProducts('a logger with private fields works, and its lines through pino are captured once', async (t, _build, product) => {
  const { stream, text } = output()
  const {
    app, linesOf, messagesOf
  } = await capturing(t, { loggerInstance: new PrivateLogger(pino({ level: 'info' }, stream)) }, (app) => app.get('/', (request) => {
    const { log } = request as unknown as { log: PrivateLogger }
    const before = log.calls
    log.debug('below the level')
    log.info('own')
    log.child({ part: 'child' }).info('of a child')
    t.equal(log.calls, before + 2)
    t.equal(log.level, 'info')
    return 'x'
  }), { product })
  t.equal((await app.inject('/')).statusCode, 200)
  t.same(messagesOf('/'), ['own', 'of a child'], product)
  t.same(linesOf('/').map(({ message }) => message).filter((message) => / request$|^request /.test(message)), ['incoming request', 'request completed'])
  t.match(linesOf('/').find(({ message }) => message === 'of a child')?.context, { part: 'child' })
  t.same(text().trim().split('\n').map((line) => (JSON.parse(line) as { msg: string }).msg), ['incoming request', 'own', 'of a child', 'request completed'])
  await app.close()
})

inBothProducts('a logger other than pino is unchanged, and the profile has only lines of Hindsight', async (t, _build, product) => {
  const calls: string[] = []
  const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
  const write = (text: string): void => { calls.push(text) }
  const withoutLevel = {
    ...Object.fromEntries(levels.map((level) => [level, (text: string) => { write(text) }])), child () { return this }
  }
  const withOneFunction = { ...Object.fromEntries(levels.map((level) => [level, write])), child () { return this } }
  const plain = { ...withOneFunction, level: 'info', silent () {} }
  for (const logger of [false, plain, withoutLevel, withOneFunction]) {
    calls.length = 0
    const server = logger === false ? { logger } : { loggerInstance: logger, disableRequestLogging: true }
    const { app, capture, linesOf } = await capturing(t, server, (app) => app.get('/', async (request, reply) => {
      if (logger === plain || logger === withoutLevel) t.equal(request.log as unknown, logger)
      for (const level of levels) request.log[level](level)
      request.log.child({ a: 1 }).info('of a child')
      reply.log.error({ err: new Error('of a reply') }, 'of a reply')
      traceOf(request).recording.log?.debug(request.log, { channel: 'router', message: 'ours', context: {} })
      return 'x'
    }), { product })
    t.equal((await app.inject('/')).statusCode, 200)
    t.notOk(capture.hasPinoLogger)
    t.same(linesOf('/').map(({ message }) => message), ['ours'], product)
    t.match(calls, logger === false ? [] : [...levels, 'of a child', { err: { message: 'of a reply' } }])
    t.equal(calls.length, logger === false ? 0 : levels.length + 2)
    await app.close()
  }
})

inBothProducts('a reply keeps the logger that an earlier hook has given it', async (t, _build, product) => {
  const lines: string[] = []
  const other = pino({ level: 'error' }, { write: (line: string) => { lines.push(line) } })
  const { app } = await capturing(t, { logger: false }, (app) => app.get('/', async (_request, reply) => {
    reply.log.error('to the other one')
    return 'x'
  }), { product, before: (app) => app.addHook('onRequest', async (_request, reply) => { reply.log = other }) })
  await app.inject('/')
  t.match(lines, [/to the other one/])
})

inBothProducts('an error after the response is recorded, with and without a logger', async (t, build) => {
  const childLoggerFactory = (log: pino.Logger, bindings: object, options: object): pino.Logger => log.child(bindings, { ...options, msgPrefix: '[api] ' })
  const servers = [
    { logger: false }, { logger: { level: 'silent' } }, { logger: { level: 'error', stream: output().stream } },
    { logger: { level: 'error', stream: output().stream, messageKey: 'text', errorKey: 'error', nestedKey: 'payload' } },
    { logger: { level: 'info', stream: output().stream, msgPrefix: '> ' }, childLoggerFactory }
  ]
  for (const server of servers) {
    const app = await build((app) => app.get('/', async (_request, reply) => {
      reply.send('sent')
      await sleep(1)
      throw new Error('too late')
    }), {}, server)
    const response = await app.inject('/')
    // Fastify logs the error when the promise of the handler rejects, after the response.
    let { exceptions } = await profileOf(app, response)
    for (let tries = 0; exceptions.length === 0 && tries < 1_000; tries++) {
      await sleep(10)
      exceptions = (await profileOf(app, response)).exceptions
    }
    t.same(exceptions.map(({ message }) => message), ['too late'])
  }
})

/** The output of an application whose request logs in many ways; what differs each time is made the same. */
async function outputOf (t: Parameters<typeof capturing>[0], logger: object, product?: 'package' | 'service'): Promise<string> {
  const { stream, text } = output()
  const server = { logger: { ...logger, stream } }
  const declare = (app: FastifyInstance): void => {
    app.setErrorHandler((error, request, reply) => {
      request.log.error({ err: error, req: request, res: reply }, 'handled')
      reply.send(error)
    })
    app.get('/', { logLevel: (logger as { route?: 'error' }).route ?? '' as 'error' }, async (request) => {
      for (const log of [
        request.log, app.log, request.log.child({ part: 'child' }, { msgPrefix: '> ', redact: ['secret'] }), request.log.child({}, { level: 'error' })
      ]) {
        for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) {
          log[level]('plain')
          log[level]({ secret: 'a', card: { number: '4111' }, big: 'x'.repeat(50) }, 'with %s and %d', 'fields', 3)
          log[level](new TypeError(level))
        }
      }
      request.log.level = 'fatal'
      request.log.error('after the level was raised')
      throw Object.assign(new Error('failed'), { stack: 'Error: failed' })
    })
  }
  const app = product === undefined ? Fastify(server) as unknown as FastifyInstance : (await capturing(t, server, declare, { product })).app
  if (product === undefined) declare(app)
  for (const url of ['/', '/', '/absent']) await app.inject(url)
  await app.close()
  const stack = /"stack":"(?:[^"\\]|\\.)*"/g
  return text().replace(/"(time|pid|responseTime)":[\d.]+/g, '"$1":0').replace(/"(hostname|reqId)":"[^"]*"/g, '"$1":""').replace(stack, '"stack":""')
}

t.test('the log output of an application is the same as without Hindsight', async (t) => {
  const loggers: Record<string, object> = {
    silent: { level: 'silent' },
    fatal: { level: 'fatal' },
    warn: { level: 'warn' },
    info: { level: 'info' },
    debug: { level: 'debug' },
    trace: { level: 'trace' },
    'the level of a route': { level: 'info', route: 'error' },
    'its own form': {
      level: 'info',
      redact: ['card.number'],
      messageKey: 'text',
      base: { service: 'shop' },
      mixin: () => ({ part: 'shop' }),
      formatters: { level: (label: string) => ({ level: label }), log: (fields: object) => ({ ...fields, formed: true }) },
      serializers: { res: () => 'a reply' }
    },
    hooks: {
      level: 'info',
      hooks: { logMethod (this: unknown, args: [string], method: (...args: unknown[]) => void, level: number) { if (level > 30) method.apply(this, args) } }
    }
  }
  for (const [name, logger] of Object.entries(loggers)) {
    const expected = await outputOf(t, logger)
    for (const product of PRODUCTS) t.equal(await outputOf(t, logger, product), expected, `${name}, ${product}`)
    t.ok(expected.includes('plain'), 'the output has lines')
  }
})

function fetchEach (port: number, paths: readonly string[], agent: Agent): Promise<unknown> {
  return paths.reduce<Promise<unknown>>((before, path) => before.then(() => new Promise<void>((resolve, reject) => {
    get({ port, path, agent }, (response) => response.resume().on('end', resolve)).on('error', reject)
  })), Promise.resolve())
}

inBothProducts('on a persistent connection the first line of a request is attributed to that request', async (t, _build, product) => {
  const variants: Record<string, { server?: object, before?: (app: FastifyInstance) => unknown, first?: string }> = {
    'as Fastify comes': {},
    'a hook before ours that waits': { before: (app) => app.addHook('onRequest', async () => { await sleep(2) }) },
    'one logger for all requests': { server: { childLoggerFactory: (logger: FastifyBaseLogger) => logger } },
    'another first line': {
      server: {
        logController: new class extends (Fastify as unknown as { LogController: new () => { incomingRequest: unknown } }).LogController {
          override incomingRequest = (request: { log: FastifyBaseLogger }) => {
            request.log.info({ req: request }, 'came in')
          }
        }()
      },
      first: 'came in'
    }
  }
  for (const [name, { server = {}, before, first = 'incoming request' }] of Object.entries(variants)) {
    const { stream } = output()
    const { app, linesOf } = await capturing(t, { logger: { level: 'info', stream }, ...server }, (app) => app.get('/:n', async (request) => {
      await sleep(1)
      request.log.info(request.url)
      return 'x'
    }), { product, ...(before !== undefined && { before }) })
    await app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = app.server.address() as AddressInfo
    const agents = [1, 2, 3].map(() => new Agent({ keepAlive: true, maxSockets: 1 }))
    await Promise.all(agents.map((agent, i) => fetchEach(port, [1, 2, 3].map((n) => `/${i}${n}`), agent)))
    for (const agent of agents) agent.destroy()
    for (const url of agents.flatMap((_agent, i) => [1, 2, 3].map((n) => `/${i}${n}`))) {
      const lines = linesOf(url)
      t.same(lines.filter(({ message }) => message === first).map(({ context }) => (context.req as { url: string }).url), [url], `${name}, ${product}: ${url}`)
      t.same(lines.filter(({ message }) => message.startsWith('/')).map(({ message }) => message), [url])
    }
    await app.close()
  }
})

t.test('a request has the lines of its logger outside of its asynchronous context, too', async (t) => {
  for (const [server, logLevel] of [[{ logger: { level: 'warn', stream: output().stream } }], [{ logger: { stream: output().stream } }, 'warn']] as const) {
    const kept: FastifyBaseLogger[] = []
    const { app, messagesOf } = await capturing(t, server, (app) => app.get('/', { logLevel: logLevel ?? '' as 'warn' }, (request) => {
      kept.push(request.log, request.log.child({}))
      return 'x'
    }))
    await app.inject('/')
    for (const log of kept) {
      for (const level of ['debug', 'warn'] as const) log[level](`${level}, later`)
    }
    t.same(messagesOf('/'), ['warn, later', 'warn, later'])
    await app.close()
  }
})

t.test('a line of a shared logger is attributed to the request whose context is current', async (t) => {
  const { stream } = output()
  const variants: Record<string, (app: FastifyInstance) => FastifyBaseLogger> = {
    'that of the application': (app) => app.log,
    'one of a plugin': (app) => app.log.child({ plugin: 'shop' })
  }
  for (const [name, make] of Object.entries(variants)) {
    let shared: FastifyBaseLogger
    const { app, linesOf } = await capturing(t, { logger: { stream }, childLoggerFactory: () => shared }, (app) => {
      app.get('/:n', async (request) => {
        await sleep(1)
        request.log.info(`log ${request.url}`)
        shared.info({ req: request }, `req ${request.url}`)
        return 'x'
      })
    }, { product: 'package', before: (app) => { shared = make(app) } })
    const other = await capturing(t, { logger: { stream } }, (other) => other.get('/', () => {
      app.log.info('of another application')
      return 'x'
    }))
    await app.inject('/first')
    await Promise.all(['/1', '/2', '/3'].map((url) => app.inject(url)))
    for (const url of ['/1', '/2', '/3']) {
      t.same(linesOf(url).map(({ message }) => message).filter((message) => message.includes('/')), [`log ${url}`, `req ${url}`], name)
    }
    await other.app.inject('/')
    t.same(other.messagesOf('/'), ['of another application'])
    await other.app.close()
    await app.close()
  }
})

inBothProducts('a debug line of Hindsight is written only in the service, if the logger has that level', async (t, _build, product) => {
  for (const level of ['debug', 'info']) {
    const { stream, text } = output()
    const { app, messagesOf, linesOf } = await capturing(t, { logger: { level, stream } }, (app) => app.get('/', (request) => {
      traceOf(request).recording.log?.debug(request.log, { channel: 'router', message: 'ours', context: { route: 'home' } })
      return 'x'
    }), { product })
    await app.inject('/')
    t.match(linesOf('/').filter(({ channel }) => channel === 'router'), [{ level: 'debug', message: 'ours', context: { route: 'home' } }])
    t.same(messagesOf('/'), [])
    t.equal(text().includes('ours'), product === 'service' && level === 'debug', `${product}, ${level}`)
    await app.close()
  }
})

t.test('a line with unreadable fields is not captured', async (t) => {
  const { app, messagesOf } = await capturing(t, { logger: { stream: output().stream } }, (app) => app.get('/', () => {
    app.log.info(Object.defineProperty({}, 'req', { get () { throw new Error('unreadable') } }), 'not captured')
    app.log.info('captured')
    return 'x'
  }))
  t.equal((await app.inject('/')).statusCode, 200)
  t.same(messagesOf('/'), ['captured'])
  await sleep(1)
  await app.close()
})

t.test('two applications in one process capture the lines of their own requests', async (t) => {
  const { stream } = output()
  const shared = pino({ level: 'info' }, stream)
  const second = await capturing(t, { loggerInstance: shared }, (app) => app.get('/b', async (request) => {
    request.log.info('b of its request')
    app.log.info('b of its application')
    await sleep(1)
    shared.info('the shared logger in b')
    return 'x'
  }))
  const first = await capturing(t, { loggerInstance: shared }, (app) => app.get('/a', async (request) => {
    request.log.info('a of its request')
    second.app.log.info('b in the work of a')
    await second.app.inject('/b')
    await sleep(1)
    shared.info('the shared logger in a')
    return 'x'
  }))
  await Promise.all(Array.from({ length: 3 }, () => first.app.inject('/a')))
  const times = <T>(...lines: T[]): T[] => lines.flatMap((line) => [line, line, line]).sort()
  t.same(first.messagesOf('/a').sort(), times('a of its request', 'b in the work of a', 'the shared logger in a'))
  t.same(second.messagesOf('/b').sort(), times('b of its request', 'b of its application', 'the shared logger in b'))
  for (const [of, url] of [[first, '/a'], [second, '/b']] as const) {
    t.same(of.linesOf(url).filter(({ message }) => message === 'incoming request').map(({ context }) => (context.req as { url: string }).url), times(url))
  }
  await first.app.close()
  t.ok(hasSubscribers(CHANNEL), 'the other application still captures')
  await second.app.inject('/b')
  t.equal(second.linesOf('/b').filter(({ message }) => message === 'incoming request').length, 4)
  await second.app.close()
})

t.test('after the last application is closed, the channel of pino has no subscriber', async (t) => {
  t.notOk(hasSubscribers(CHANNEL))
  const apps = [await capturing(t, { logger: false }, () => {}), await capturing(t, {}, () => {})]
  t.ok(hasSubscribers(CHANNEL))
  for (const { app } of apps) await app.close()
  t.notOk(hasSubscribers(CHANNEL))
})

t.test('a closed application is garbage-collected, even if its loggers remain', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const kept: FastifyBaseLogger[] = []
  const open = async (server: object, keeps: boolean): Promise<WeakRef<FastifyInstance>> => {
    const app = Fastify(server) as unknown as FastifyInstance
    app.decorate('hindsight', { lifecycle: {} } as never)
    const capture = new LogCapture(app)
    app.addHook('onRequest', async (request, reply) => {
      const trace = traceOf(request)
      trace.begin(reply)
      trace.recording.events = {} as EventRecorder
      capture.open(trace)
      if (keeps) kept.push(request.log)
    })
    app.addHook('onResponse', async (request) => traceOf(request).context.release())
    app.addHook('onClose', async () => capture.close())
    app.get('/', () => 'x')
    await app.inject('/')
    if (keeps) kept.push(app.log)
    await app.close()
    return new WeakRef(app)
  }
  // The logger of an application without one holds it.
  const closed = [await open({ logger: false }, false), await open({ logger: { level: 'silent' } }, true)]
  for (let tries = 0; tries < 500 && closed.some((ref) => ref.deref() !== undefined); tries++) {
    await sleep(10)
    collect()
  }
  t.same(closed.map((ref) => ref.deref() === undefined), [true, true])
  t.equal(kept.length, 2)
})

t.test('a line with the object of another library as its request adds nothing to that object', async (t) => {
  const lines: string[] = []
  const app = Fastify({ logger: { stream: { write: (line: string) => { lines.push(line) } } } }) as unknown as FastifyInstance
  await app.register(hindsight, { debug: true, profiler: { storage: 'memory' } })
  const foreign = Object.freeze({ id: 7 })
  const open = { id: 8 }
  app.get('/', async (request) => {
    for (const req of [foreign, open]) request.log.info({ req }, 'incoming request')
    return 'x'
  })
  t.equal((await app.inject('/')).statusCode, 200)
  await app.close()
  t.equal(lines.filter((line) => line.includes('incoming request')).length, 3)
  t.same(Reflect.ownKeys(open), ['id'])
})
