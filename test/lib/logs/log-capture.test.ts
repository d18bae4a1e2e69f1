import { Agent, get } from 'node:http'
import { Writable } from 'node:stream'
import pino from 'pino'
import t from 'tap'
import type { FastifyBaseLogger, FastifyInstance, FastifyServerOptions } from 'fastify'
import { RequestState } from '../../../lib/lifecycle/request-state.js'
import { recordingLogger } from '../../../lib/logs/log-capture.js'
import { RequestLog } from '../../../lib/logs/request-log.js'
import type { Profile } from '../../../lib/profiler/profile.js'
import { build, listen, profileOf } from '../../support/app.js'

interface Line { level: number, msg: string, reqId?: string, [field: string]: unknown }

/** A destination, and the lines that came to it. */
function sink (): { stream: Writable, lines: Line[] } {
  const lines: Line[] = []
  const stream = new Writable({ write (chunk, _encoding, done) { lines.push(JSON.parse(String(chunk)) as Line); done() } })
  return { stream, lines }
}

const messages = ({ logs }: Profile): string[] => logs.filter(({ channel }) => channel === 'app').map(({ message }) => message)
const withLogger = (level: string, stream: Writable, more = {}) => ({ logger: { level, stream, ...more } }) as FastifyServerOptions

function routes (app: FastifyInstance): void {
  app.get('/', request => {
    for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) request.log[level](`a ${level} line`)
    return 'x'
  })
}

t.test('debug lines are captured at any level of the logger, which writes only its own level', async t => {
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
    const app = await build(t, {}, routes, withLogger(level, stream))
    const profile = await profileOf(app, await app.inject('/'))
    const captured = level === 'trace' ? ['trace'] : []
    t.same(messages(profile), [...captured, 'debug', 'info', 'warn', 'error', 'fatal'].map(name => `a ${name} line`), level)
    t.same(lines.map(({ msg }) => msg).filter(msg => msg.startsWith('a ')), written.map(name => `a ${name} line`), `${level}: written`)
    if (level === 'warn') t.notOk(lines.some(({ level }) => level < 40), 'no other line is below the level')
    await app.close()
  }
})

t.test('a profiled line has its level, channel, context and time', async t => {
  const { stream } = sink()
  const app = await build(t, {}, app => app.get('/', request => {
    request.log.warn({ channel: 'billing', amount: 3, password: 'hunter2x' }, 'a %s', 'line')
    request.log.error(new TypeError('went wrong'))
    return 'x'
  }), withLogger('info', stream))
  const before = Date.now()
  const { logs } = await profileOf(app, await app.inject('/'))
  const billing = logs.find(({ channel }) => channel === 'billing')
  t.match(billing, { level: 'warn', message: 'a line', context: { amount: 3, password: '******' } })
  t.ok(Math.abs(Date.parse(String(billing?.time)) - before) < 1000)
  t.match(logs.find(({ message }) => message === 'went wrong'), { level: 'error', context: { err: { type: 'TypeError' } } })
  t.same(logs.map(({ time }) => time), logs.map(({ time }) => time).sort(), 'in the order of time')
})

t.test('"incoming request" and "request completed" are attributed to their request', async t => {
  const { stream } = sink()
  const app = await build(t, {}, app => app.get('/:n', () => 'x'), withLogger('info', stream))
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => app.inject(`/${n}`)))
  for (const [n, answer] of answers.entries()) {
    const { logs } = await profileOf(app, answer)
    t.match(logs.filter(({ channel, message }) => channel === 'request' && message === 'incoming request').map(({ context }) => (context.req as { url: string }).url), [`/${n}`])
    t.equal(logs.filter(({ message }) => message === 'request completed').length, 1)
  }
})

t.test('"request completed" is captured as it was written, with any options of the logger', async t => {
  const loggers: Record<string, { more: object, context: (line: Line) => object, message?: string }> = {
    'as it comes': { more: {}, context: ({ responseTime }) => ({ res: { statusCode: 200 }, responseTime }) },
    'a serializer': { more: { serializers: { res: () => ({ by: 'us' }) } }, context: ({ responseTime }) => ({ res: { by: 'us' }, responseTime }) },
    'a mixin': { more: { mixin: () => ({ part: 'shop' }) }, context: ({ responseTime }) => ({ part: 'shop', res: { statusCode: 200 }, responseTime }) },
    bindings: { more: { base: { service: 'shop' } }, context: ({ responseTime }) => ({ service: 'shop', res: { statusCode: 200 }, responseTime }) },
    redacted: { more: { redact: ['res.statusCode'] }, context: ({ responseTime }) => ({ res: { statusCode: '[Redacted]' }, responseTime }) },
    'another key of the message': { more: { messageKey: 'text' }, context: ({ responseTime }) => ({ res: { statusCode: 200 }, responseTime, text: 'request completed' }), message: '' }
  }
  for (const [name, { more, context, message = 'request completed' }] of Object.entries(loggers)) {
    const { stream, lines } = sink()
    const app = await build(t, {}, app => app.get('/', () => 'x'), withLogger('info', stream, more))
    const { logs } = await profileOf(app, await app.inject('/'))
    const written = lines.find(({ responseTime }) => responseTime !== undefined) as Line
    const [told, ...others] = logs.filter(({ context }) => context.responseTime !== undefined)
    t.same(others, [], name)
    t.same(told?.context, context(written), name)
    t.match(told, { level: 'info', channel: 'request', message }, name)
    await app.close()
  }
})

t.test('lines of the application with the texts of Fastify are masked', async t => {
  const { stream } = sink()
  // Without a logger Fastify logs no line of its own.
  for (const [options, count] of [[withLogger('info', stream), 2], [{ logger: false } as FastifyServerOptions, 1]] as const) {
    const app = await build(t, {}, app => app.get('/', request => {
      request.log.info({ res: { statusCode: { password: 'hunter2x' } }, responseTime: 1 }, 'request completed')
      return 'x'
    }), options)
    const { logs } = await profileOf(app, await app.inject('/'))
    t.equal(logs.filter(({ message }) => message === 'request completed').length, count)
    t.notMatch(JSON.stringify(logs), 'hunter2x')
    await app.close()
  }
})

t.test('lines of child loggers, and of `app.log` inside a request, are captured', async t => {
  const { stream, lines } = sink()
  const app = await build(t, {}, app => app.get('/', async request => {
    request.log.child({ part: 'child' }).info('from a child')
    request.log.child({}, { level: 'error' }).warn('below its own level')
    app.log.info('from the application')
    await new Promise(resolve => setTimeout(resolve, 5))
    app.log.child({ part: 'other' }).warn('from its child, later')
    return 'x'
  }), withLogger('info', stream))
  app.log.info('outside of any request')
  const profile = await profileOf(app, await app.inject('/'))
  t.same(messages(profile), ['from a child', 'from the application', 'from its child, later'])
  t.match(profile.logs.find(({ message }) => message === 'from a child')?.context, { part: 'child' })
  t.ok(lines.some(({ msg }) => msg === 'outside of any request'))
  for (const message of messages(profile)) t.equal(lines.filter(({ msg }) => msg === message).length, 1, `${message}: written once`)
})

t.test('the lines of concurrent requests are separate', async t => {
  const { stream } = sink()
  const app = await build(t, {}, app => app.get('/:n', async request => {
    const { n } = request.params as { n: string }
    for (let i = 0; i < 3; i++) {
      request.log.info(`request ${n}`)
      await new Promise(resolve => setTimeout(resolve, Number(n) % 7))
      app.log.info(`application for ${n}`)
      await Promise.resolve()
    }
    return n
  }), withLogger('info', stream))
  await Promise.all(Array.from({ length: 200 }, async (_, n) => {
    const profile = await profileOf(app, await app.inject(`/${n}`))
    t.same(messages(profile), Array.from({ length: 3 }, () => [`request ${n}`, `application for ${n}`]).flat())
  }))
})

t.test('the context is the same after the body was parsed', async t => {
  const { stream } = sink()
  const app = await build(t, {}, app => {
    app.addHook('preParsing', async () => { app.log.info('before the body') })
    app.post('/', async () => {
      app.log.info('behind the body')
      await new Promise(resolve => setImmediate(resolve))
      app.log.info('and later')
      return 'x'
    })
  }, withLogger('info', stream))
  const profile = await profileOf(app, await app.inject({ method: 'POST', url: '/', payload: { a: 'x'.repeat(50_000) } }))
  t.same(messages(profile), ['before the body', 'behind the body', 'and later'])
})

t.test('lines of requests are captured if the logger is disabled', async t => {
  const app = await build(t, {}, routes, { logger: false } as FastifyServerOptions)
  const { logs } = await profileOf(app, await app.inject('/'))
  t.same(logs.filter(({ channel }) => channel === 'app').map(({ message }) => message), ['debug', 'info', 'warn', 'error', 'fatal'].map(name => `a ${name} line`))
})

t.test('values that pino redacts are redacted in the profile', async t => {
  const { stream, lines } = sink()
  const app = await build(t, {}, app => app.get('/', request => {
    request.log.info({ card: { number: '4111' } }, 'paid')
    return 'x'
  }), withLogger('info', stream, { redact: ['card.number'] }))
  const { logs } = await profileOf(app, await app.inject('/'))
  t.match(logs.find(({ message }) => message === 'paid')?.context, { card: { number: '[Redacted]' } })
  t.match(lines.find(({ msg }) => msg === 'paid'), { card: { number: '[Redacted]' } })
})

t.test('the levels of a custom logger are captured', async t => {
  const { stream, lines } = sink()
  const logger = pino({ level: 'error', messageKey: 'msg' }, stream)
  const app = await build(t, {}, routes, { logger: undefined, loggerInstance: logger } as unknown as FastifyServerOptions)
  t.same(messages(await profileOf(app, await app.inject('/'))), ['debug', 'info', 'warn', 'error', 'fatal'].map(name => `a ${name} line`))
  t.same(lines.map(({ msg }) => msg), ['a error line', 'a fatal line'])
})

t.test('the captured lines are bounded', async t => {
  const { stream, lines } = sink()
  const app = await build(t, {}, app => app.get('/', request => {
    for (let i = 0; i < 12_000; i++) request.log.info(`line ${i}`)
    return 'x'
  }), withLogger('info', stream))
  const profile = await profileOf(app, await app.inject('/'))
  t.ok(profile.logs.length <= 10_100, String(profile.logs.length))
  t.equal(lines.filter(({ msg }) => msg.startsWith('line ')).length, 12_000, 'the destination receives all lines')
})

t.test('outside debug mode the logger is unchanged', async t => {
  const { stream, lines } = sink()
  const app = await build(t, { debug: false }, routes, withLogger('warn', stream))
  await app.inject('/')
  t.same(lines.map(({ msg }) => msg), ['a warn line', 'a error line', 'a fatal line'])
})

t.test('the first line of a request is not attributed to the previous request of its connection', async (t) => {
  const app = await build(t, {}, (app) => app.get('/:n', async () => 'ok'), { logger: { level: 'info', stream: { write: () => {} } } })
  const port = await listen(app)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  for (const path of ['/1', '/2', '/3']) {
    await new Promise<void>((resolve, reject) => get({ port, path, agent }, (response) => response.resume().on('end', () => resolve())).on('error', reject))
  }
  const { profiles } = await app.hindsight.profiler.search({ limit: 9 })
  t.equal(profiles.length, 3)
  for (const { token, url } of profiles) {
    const lines = (await app.hindsight.profiler.find(token))?.logs.filter(({ message }) => message === 'incoming request') ?? []
    t.same(lines.map(({ context }) => (context.req as { url: string }).url), [new URL(url).pathname])
  }
})

interface Recorded {
  logger: FastifyBaseLogger & Record<PropertyKey, any>
  log: RequestLog
  lines: () => Array<[level: string, message: string, context: object]>
}

/** A recording logger, and what it has recorded. */
function recorded (logger: object): Recorded {
  const log = new RequestLog(new RequestState())
  const formatter = pino({ level: 'debug', base: null, timestamp: false }, { write: (line: string) => log.add((JSON.parse(line) as { level: number }).level, line) })
  return {
    logger: recordingLogger(logger as FastifyBaseLogger, log, () => formatter) as Recorded['logger'],
    log,
    lines: () => log.records().map(({ level, message, context }) => [level, message, context])
  }
}

class PrivateLogger {
  static readonly brand = 'private'
  readonly #calls: unknown[][]
  readonly #bindings: object
  #level = 'info'

  constructor (calls: unknown[][] = [], bindings: object = {}) {
    this.#calls = calls
    this.#bindings = bindings
  }

  get level (): string { return this.#level }
  set level (level: string) { this.#level = level }
  get calls (): unknown[][] { return this.#calls }
  #write (level: string, args: unknown[]): string {
    this.#calls.push([level, this.#bindings, ...args])
    return 'written'
  }

  trace (...args: unknown[]): string { return this.#write('trace', args) }
  debug (...args: unknown[]): string { return this.#write('debug', args) }
  info (...args: unknown[]): string { return this.#write('info', args) }
  warn (...args: unknown[]): string { return this.#write('warn', args) }
  error (...args: unknown[]): string { return this.#write('error', args) }
  fatal (...args: unknown[]): string { return this.#write('fatal', args) }
  flush (): number { return this.#calls.length }
  child (bindings: object): PrivateLogger { return new PrivateLogger(this.#calls, { ...this.#bindings, ...bindings }) }
}

t.test('calls from the level debug on are recorded, and passed on unchanged', async (t) => {
  const given = new PrivateLogger()
  const { logger, lines } = recorded(given)
  for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) {
    t.equal(logger[level]({ a: 1 }, 'a %s line', level) as unknown, 'written', 'the result is that of the logger')
  }
  t.same(given.calls, ['trace', 'debug', 'info', 'warn', 'error', 'fatal'].map((level) => [level, {}, { a: 1 }, 'a %s line', level]))
  t.same(lines(), ['debug', 'info', 'warn', 'error', 'fatal'].map((level) => [level, `a ${level} line`, { a: 1 }]))
})

t.test('all other members are those of the logger', async (t) => {
  const given = new PrivateLogger()
  const { logger } = recorded(given)
  t.equal(logger.level, 'info')
  logger.level = 'warn'
  t.equal(given.level, 'warn', 'a setter has the logger as this')
  logger.extra = 1
  t.equal((given as { extra?: number }).extra, 1)
  t.equal(logger.flush(), 0, 'a method has the logger as this')
  t.ok(logger instanceof PrivateLogger)
  const { constructor: Logger } = logger as unknown as { constructor: typeof PrivateLogger }
  t.equal(Logger.name, 'PrivateLogger')
  t.equal(Logger.brand, 'private')
  t.ok(new Logger() instanceof PrivateLogger)
  t.same(Object.keys(logger), ['extra'])
  t.ok('flush' in logger)
})

t.test('children are recorded with their bindings, and so are their children', async (t) => {
  const given = new PrivateLogger()
  const { logger, lines } = recorded(given)
  const child = logger.child({ part: 'a' })
  child.info('one')
  child.child({ piece: 'b' }).warn('two')
  logger.child({}, { level: 'error' }).warn('below the level that was given')
  t.same(lines(), [['info', 'one', { part: 'a' }], ['warn', 'two', { part: 'a', piece: 'b' }]])
  t.same(given.calls, [['info', { part: 'a' }, 'one'], ['warn', { part: 'a', piece: 'b' }, 'two'], ['warn', {}, 'below the level that was given']])
})

t.test('methods of a plain object are recorded', async (t) => {
  const calls: unknown[] = []
  const { logger, lines } = recorded({ info: (...args: unknown[]) => { calls.push(args) }, child: () => undefined })
  const { info } = logger
  info('without this')
  t.equal(logger.child({}), undefined, 'an invalid child')
  t.throws(() => logger.warn('x'), TypeError, 'a method that the logger lacks is missing')
  t.same(calls, [['without this']])
  t.same(lines(), [['info', 'without this', {}]])
  const nested = recorded({ info () {}, warn (this: FastifyBaseLogger, text: string) { this.info(text) } })
  nested.logger.warn('once')
  t.same(nested.lines(), [['warn', 'once', {}]], 'a level that calls another level')
})

t.test('a method that a proxy must not replace is called, and not recorded', async (t) => {
  const calls: string[] = []
  const { logger, lines } = recorded(Object.freeze({ info: (text: string) => { calls.push(text) } }))
  logger.info('frozen')
  t.same(calls, ['frozen'])
  t.same(lines(), [])
})

t.test('a line that cannot be formatted does not throw', async (t) => {
  const given = new PrivateLogger()
  const { logger, lines } = recorded(given)
  const unreadable = { get a () { throw new Error('unreadable') } }
  t.equal(logger.info(unreadable) as unknown, 'written')
  logger.child(undefined as never).info('a child of nothing')
  logger.child({}, { level: 'unheard of' }).info('a level of its own')
  t.same(lines(), [['info', 'a child of nothing', {}], ['info', 'a level of its own', {}]])
  t.equal(given.calls.length, 3)
})

t.test('an error of the logger is thrown', async (t) => {
  const { logger, lines } = recorded({ error () { throw new Error('the disk is full') } })
  t.throws(() => logger.error('x'), { message: 'the disk is full' })
  t.same(lines(), [])
})

t.test('a call that writes a line of pino is not recorded twice', async (t) => {
  const { logger, log, lines } = recorded({ info: (text: string) => log.add(30, JSON.stringify({ msg: text, by: 'pino' })) })
  logger.info('once')
  t.same(lines(), [['info', 'once', { by: 'pino' }]])
})
