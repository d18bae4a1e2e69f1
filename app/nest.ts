import {
  Catch, ConsoleLogger, HttpException, Inject, Logger, Module, NotFoundException,
  type ExecutionContext, type LoggerService, type LogLevel, type NestModule
} from '@nestjs/common'
import { ApplicationConfig } from '@nestjs/core'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { functionPlace } from '../lib/errors/declared-place.js'
import { isError, messageOf, nameOf, read } from '../lib/errors/thrown-value.js'
import { setOutside } from '../lib/profiler/handler-time.js'
import { noteFailure } from '../lib/profiler/observation.js'
import { requestContext, stateOf } from '../lib/lifecycle/request-state.js'
import { servicesOf } from '../lib/lifecycle/services.js'
import type { LogLevel as RecordLevel } from '../lib/logs/log-record.js'
import type { OwnLine } from '../lib/logs/request-log.js'
import { inspected } from '../lib/view/json.js'
import { cut } from '../lib/view/visible.js'
import type {} from './capture.js'

const MAX_TEXT = 32_000
/** The levels of log records by Nest's levels. */
const LEVELS: Readonly<Record<LogLevel, RecordLevel>> = {
  fatal: 'fatal', error: 'error', warn: 'warn', log: 'info', debug: 'debug', verbose: 'trace'
}

type Callable = (...args: unknown[]) => unknown

/**
 * A module for NestJS on `@nestjs/platform-fastify`: profiles have exceptions and the method of the controller, and
 * the diagnostic page replaces Nest's default response to an exception.
 */
export class HindsightModule implements NestModule {
  readonly #config: ApplicationConfig

  constructor (config: ApplicationConfig) {
    this.#config = config
    // Before the global guards of the application, which may refuse the request.
    config.useGlobalGuards({ canActivate: noteController })
  }

  configure (): void {
    // After those that the application has set: the global filter that is called first. No interceptor: Nest answers
    // routes that have one differently.
    this.#config.useGlobalFilters(new ExceptionObserver())
  }
}
Inject(ApplicationConfig)(HindsightModule, undefined, 0)
Module({})(HindsightModule)

/** A class without instances: `instanceof`, by which Nest selects filters, notes the exception. */
class NoException {
  static [Symbol.hasInstance] (exception: unknown): boolean {
    noteException(exception)
    return false
  }
}

/** Sees what reaches Nest's filters, and catches nothing: the same filter answers, in every kind of context. */
class ExceptionObserver {
  catch (): void {}
}
Catch(NoException)(ExceptionObserver)

function noteException (exception: unknown): void {
  const { request, reply } = requestContext.getStore() ?? {}
  if (request === undefined || reply === undefined || reply.sent) return
  const state = stateOf(request)
  state.defaultAnswers = defaultAnswers(exception)
  // Why no route matched is explained by the route table.
  const missed = `Cannot ${request.method} ${request.originalUrl}`
  const isMiss = request.is404 && exception instanceof NotFoundException && exception.message === missed
  // What Fastify has raised reaches the filters as an exception of Nest.
  if (!isMiss && !state.failed) noteFailure(request, reply, exception)
}

/** The bodies that Nest's own filter may send for an exception. */
function defaultAnswers (exception: unknown): string[] {
  try {
    if (exception instanceof HttpException) {
      const response = exception.getResponse()
      if (typeof response === 'object') return [JSON.stringify(response)]
      return [JSON.stringify({ statusCode: exception.getStatus(), message: response })]
    }
    const { statusCode, message } = Object(exception) as { statusCode?: unknown, message?: unknown }
    const unknown = { statusCode: 500, message: 'Internal server error' }
    return [JSON.stringify({ statusCode, message }), JSON.stringify(unknown)]
  } catch {
    return []
  }
}

function noteController (context: ExecutionContext): boolean {
  const [request, reply] = context.getArgs<[FastifyRequest, FastifyReply]>()
  const { debug = false, observed = false } = context.getType() === 'http' ? servicesOf(request) ?? {} : {}
  // Requests that are profiled only if they fail have no context.
  if (observed && requestContext.getStore() === undefined) requestContext.enterWith({ request, reply })
  if (!debug || !stateOf(request).observed) return true
  const method = context.getHandler()
  stateOf(request).controller = { name: `${context.getClass().name}.${method.name}`, source: functionPlace(method) }
  setOutside(request, reply, 'handler')
  return true
}

/**
 * A logger for `NestFactory.create`: the given one, by default a `ConsoleLogger`, whose methods also add the lines of a
 * request to its profile.
 */
export function hindsightLogger<T extends LoggerService = ConsoleLogger> (
  logger: T = new ConsoleLogger() as LoggerService as T
): T {
  const methods = logger as unknown as Partial<Record<LogLevel, Callable>>
  for (const level of Object.keys(LEVELS) as LogLevel[]) {
    const write = methods[level]?.bind(logger)
    if (write !== undefined) methods[level] = recording(level, write)
  }
  return logger
}

function recording (level: LogLevel, write: Callable): Callable {
  return (...args) => {
    const { request } = requestContext.getStore() ?? {}
    const log = request === undefined ? null : stateOf(request).log ?? null
    if (log === null || !Logger.isLevelEnabled(level)) return write(...args)
    const before = log.size
    const result = write(...args)
    // A logger that writes through pino leads to a line of pino's, which is captured already.
    if (log.size === before) log.note(LEVELS[level], lineOf(args))
    return result
  }
}

// Nest passes the context of the logger last; before it, for an error, its stack.
function lineOf (args: unknown[]): OwnLine {
  const last = args.at(-1)
  const hasContext = args.length > 1 && typeof last === 'string'
  const values = (hasContext ? args.slice(0, -1) : args).filter((value) => value !== undefined)
  const stack = values.map((value) => isError(value) ? read(value, 'stack') : value).find(isStack)
  return {
    channel: hasContext ? last : 'app',
    message: cut(values.filter((value) => !isStack(value)).map(textOf).join(' '), MAX_TEXT),
    context: stack === undefined ? {} : { stack: cut(String(stack), MAX_TEXT) }
  }
}

function isStack (value: unknown): boolean {
  return typeof value === 'string' && /\n\s+at /.test(value)
}

function textOf (value: unknown): string {
  return isError(value) ? `${nameOf(value)}: ${messageOf(value)}` : inspected(value)
}
