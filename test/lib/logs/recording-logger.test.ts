import pino from 'pino'
import t from 'tap'
import type { FastifyBaseLogger } from 'fastify'
import { RequestState } from '../../../lib/lifecycle/request-state.js'
import { recordingLogger } from '../../../lib/logs/log-capture.js'
import { RequestLog } from '../../../lib/logs/request-log.js'

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

t.test('methods that were added to a logger call the recorded methods', async (t) => {
  const added = { audit (this: FastifyBaseLogger, what: string) { this.info(`audited: ${what}`) } }
  for (const logger of [new PrivateLogger(), { info () {} }]) {
    const { logger: recording, lines } = recorded(Object.assign(logger, added))
    recording.audit('it')
    t.same(lines(), [['info', 'audited: it', {}]])
  }
  const given = Object.assign(pino({ level: 'silent' }), added)
  const { logger, lines } = recorded(given)
  logger.audit('it')
  t.same(lines(), [['info', 'audited: it', {}]])
  logger.setBindings({ a: 1 })
  t.same(given.bindings(), { a: 1 })
  t.equal(logger.isLevelEnabled('info'), false)
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

t.test('methods keep their names and properties', async (t) => {
  class Logger { info (): void {} }
  Object.assign(Logger.prototype.info, { enabled: true })
  const { logger } = recorded(new Logger())
  t.same([logger.info.name, (logger.info as unknown as { enabled: boolean }).enabled], ['info', true])
})
