import pino from 'pino'
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { aheadOf } from './line-head.js'
import type { Said } from './line.js'
import { RequestLog } from './request-log.js'

const METADATA = Symbol.for('pino.metadata')
const DEBUG = 20
const INFO = 30
// What Fastify says of each response.
const COMPLETED = 'request completed'
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const

// What Fastify's own logger says of a request and a reply; without these a line would hold the whole of both, secrets too.
const SERIALIZERS = {
  req: ({ method, url, host, ip }: FastifyRequest) => ({ method, url, host, remoteAddress: ip }),
  res: ({ statusCode }: { statusCode: number }) => ({ statusCode }),
  err: pino.stdSerializers.err
}

interface Destination {
  write: (line: string) => unknown
  [METADATA]?: boolean
  lastLevel?: number
  lastTime?: string
  lastObj?: unknown
  lastMsg?: unknown
  lastLogger?: Captured
}

/** The log of a request of which nobody knows yet whether it will be wanted: made when there is a line. */
class LogInReserve {
  log: RequestLog | null = null
}

const kLog = Symbol('hindsight.log')
type Captured = FastifyBaseLogger & { [kLog]?: RequestLog | LogInReserve, levelVal?: number, [stream: symbol]: unknown }

/** Attributes what pino writes to the request that caused it, without parsing or copying it. */
export class LogCapture {
  readonly #root: Captured
  readonly #current: () => RequestLog | null
  readonly #streamSymbol: symbol | undefined
  readonly #destination: Destination | null
  // "incoming request" is written before the first hook; it is claimed by the request whose logger wrote it.
  #orphan: { logger: Captured, level: number, text: string } | null = null
  #ownLogger: FastifyBaseLogger | null = null

  /** `current` tells whose work is being done where a line comes from a logger that is not a request's own. */
  constructor (app: FastifyInstance, current: () => RequestLog | null) {
    this.#root = app.log as Captured
    this.#current = current
    this.#streamSymbol = streamSymbolOf(this.#root)
    this.#destination = this.#streamSymbol === undefined ? null : this.#root[this.#streamSymbol] as Destination
    if (this.#streamSymbol !== undefined) Object.defineProperty(this.#root, this.#streamSymbol, { value: this.#tee(), writable: true, configurable: true, enumerable: true })
  }

  /** Whether the application logs anywhere. */
  get hasDestination (): boolean {
    return this.#destination !== null
  }

  /** Starts the capture of a request's log, from the debug level on. */
  open (request: FastifyRequest): RequestLog {
    const log = this.logOf(request) ?? new RequestLog()
    if (this.#destination === null) {
      this.#ownLogger ??= withoutDetour(pino({ level: 'debug', base: null, serializers: SERIALIZERS }, this.#tee() as pino.DestinationStream))
      // A child without bindings is nothing else, and costs more.
      const own = Object.create(this.#ownLogger) as Captured
      // Where the application logs nowhere the lines are kept and go no further; a logger that is none of pino's, or made by the application, hears them too.
      request.log = saysNothing(request.log) ? own : besides(request.log, own, log)
    }
    const logger = request.log as Captured
    logger[kLog] = log
    log.outputLevel = this.#destination === null ? Infinity : logger.levelVal ?? 0
    if (this.#destination !== null && log.outputLevel > DEBUG) logger.level = 'debug'
    if (this.#orphan?.logger === logger) log.add(this.#orphan.level, this.#orphan.text)
    this.#orphan = null
    return log
  }

  /** Keeps what a request's logger says of its own accord, at the configured level, in case that it is wanted later. */
  reserve (request: FastifyRequest): void {
    const logger = request.log as Captured
    if (this.#destination === null || logger === this.#root) return
    const reserve = logger[kLog] = new LogInReserve()
    if (this.#orphan?.logger === logger) (reserve.log = new RequestLog()).add(this.#orphan.level, this.#orphan.text)
    this.#orphan = null
  }

  /** What a request has logged so far, where its lines were kept. */
  logOf (request: FastifyRequest): RequestLog | null {
    const kept = Object.hasOwn(request.log, kLog) ? (request.log as Captured)[kLog] : undefined
    return kept instanceof LogInReserve ? kept.log : kept ?? null
  }

  /** Gives the logger its own destination back. */
  close (): void {
    if (this.#streamSymbol !== undefined) this.#root[this.#streamSymbol] = this.#destination
  }

  #tee (): Destination {
    const capture = this
    const destination = this.#destination
    const forward: Record<string, unknown> = {}
    for (const name of ['flush', 'flushSync', 'end', 'reopen', 'destroy', 'on', 'once', 'emit']) {
      const method = (destination as Record<string, unknown> | null)?.[name]
      if (typeof method === 'function') forward[name] = method.bind(destination)
    }
    return {
      ...forward,
      [METADATA]: true,
      write (line) {
        const level = this.lastLevel ?? 0
        const logger = this.lastLogger as Captured
        const kept = logger[kLog]
        const own = kept instanceof LogInReserve ? kept.log ??= new RequestLog() : kept
        // Fastify's first line of a request comes while a connection that is kept still has the context of the one before.
        const isFirst = logger !== capture.#root && this.lastMsg === 'incoming request'
        const log = own ?? (isFirst ? null : capture.#current())
        const said = log !== null && this.lastMsg === COMPLETED ? completedAs(this.lastObj, line) : null
        if (log !== null && said !== null) log.say(level, said)
        else if (log !== null) log.add(level, line)
        else if (logger !== capture.#root) capture.#orphan = { logger, level, text: line }
        if (destination === null || (own !== undefined && level < own.outputLevel)) return
        if (destination[METADATA] === true) {
          const { lastTime, lastObj, lastMsg } = this
          Object.assign(destination, { lastLevel: level, lastTime, lastObj, lastMsg, lastLogger: logger })
        }
        destination.write(line)
      }
    }
  }
}

// What Fastify says of each response is kept as it is: to write a line that goes nowhere, and to read it again, costs more than most listeners.
function withoutDetour (logger: pino.Logger): FastifyBaseLogger {
  const own = Object.create(logger) as Captured
  own.info = function (this: Captured, ...args: unknown[]): void {
    const [completed, message] = args
    const log = Object.hasOwn(this, kLog) ? this[kLog] : undefined
    if (message !== COMPLETED || !(log instanceof RequestLog) || !isCompleted(completed)) return logger.info.apply(this, args as [object])
    log.say(INFO, saidOf(completed))
  }
  return own
}

// The same line of a logger that wrote it: it differs each time, so that nobody would know it again. Null where it says more, or something else.
function completedAs (fields: unknown, line: string): Said | null {
  if (!isCompleted(fields)) return null
  const said = saidOf(fields)
  const ahead = aheadOf(line)
  return ahead > 0 && line.startsWith(`${JSON.stringify(said.context).slice(1, -1)},"msg":"${COMPLETED}"}`, ahead) ? said : null
}

function saidOf ({ res: { statusCode }, responseTime }: Completed): Said {
  return { channel: 'request', message: COMPLETED, context: { res: { statusCode }, responseTime }, isOurs: true }
}

interface Completed {
  res: FastifyReply
  responseTime: number
}

function isCompleted (fields: unknown): fields is Completed {
  if (typeof fields !== 'object' || fields === null || !('res' in fields) || !('responseTime' in fields)) return false
  // What an application says in the same words may be anything.
  return typeof fields.responseTime === 'number' && fields.res instanceof Object && typeof (fields.res as { statusCode?: unknown }).statusCode === 'number' && Object.keys(fields).length === 2
}

// Fastify's stand-in for a logger has one function for all levels, and no more of its own than `child`; a factory of the application may have added to it.
function saysNothing (logger: FastifyBaseLogger): boolean {
  return logger.info === logger.error && Object.keys(logger).every((key) => key === 'child')
}

// What the application's logger is asked to write is kept as well.
function besides (logger: FastifyBaseLogger, own: Captured, log: RequestLog): FastifyBaseLogger {
  own[kLog] = log
  const both = Object.create(logger) as Captured
  for (const level of LEVELS) {
    const write = logger[level] as unknown
    if (typeof write !== 'function') continue
    both[level] = function (...args: unknown[]) {
      (own[level] as (...args: unknown[]) => void)(...args)
      return write.apply(logger, args) as void
    }
  }
  return both
}

// Every copy of pino has a symbol of its own for the stream.
function streamSymbolOf (logger: object): symbol | undefined {
  for (let holder: object | null = logger; holder !== null; holder = Object.getPrototypeOf(holder)) {
    const found = Object.getOwnPropertySymbols(holder).find((symbol) => symbol.description === 'pino.stream')
    if (found !== undefined) return found
  }
  return undefined
}
