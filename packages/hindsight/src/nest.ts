import {
  Catch, ConsoleLogger, HttpException, Inject, Module, NotFoundException,
  type ExecutionContext, type LogLevel, type NestModule
} from '@nestjs/common'
import { ApplicationConfig } from '@nestjs/core'
import type { FastifyRequest } from 'fastify'
import { isError, messageOf, nameOf, textOfStack } from './errors/thrown-value.js'
import { setCurrentCode } from './recording/handler-time.js'
import { knownTraceOf, requestContext } from './recording/trace.js'
import { currentLog } from './logs/log-capture.js'
import type { LogLevel as RecordLevel } from './logs/log-record.js'
import { cutText, inspectValue } from './view/text.js'
import type {} from './begin.js'

const MAX_TEXT = 32_000
type Stream = 'stdout' | 'stderr'

/** The levels of log records by Nest's levels. */
const LEVELS: Readonly<Record<LogLevel, RecordLevel>> = {
  fatal: 'fatal', error: 'error', warn: 'warn', log: 'info', debug: 'debug', verbose: 'trace'
}

/** A module for NestJS on Fastify: profiles have exceptions and controllers, and browsers get the diagnostic page. */
export class HindsightModule implements NestModule {
  readonly #config: ApplicationConfig

  constructor (config: ApplicationConfig) {
    this.#config = config
    // Before the global guards of the application, which may refuse the request.
    config.useGlobalGuards({ canActivate: recordController })
  }

  configure (): void {
    // The last global filter is called first. Interceptors would change how Nest responds.
    this.#config.useGlobalFilters(new ExceptionObserver())
  }
}
Inject(ApplicationConfig)(HindsightModule, undefined, 0)
Module({})(HindsightModule)

/** Nest tests exceptions with `instanceof` to select a filter: the test records the exception, and is never true. */
class NoException {
  static [Symbol.hasInstance] (exception: unknown): boolean {
    recordException(exception)
    return false
  }
}

/** A filter that catches nothing, so that Nest's choice of a filter stays the same. */
class ExceptionObserver {
  catch (): void {}
}
Catch(NoException)(ExceptionObserver)

function recordException (exception: unknown): void {
  const trace = requestContext.getStore()?.request
  if (trace === undefined || !trace.hasBegun || trace.reply.sent) return
  const { request } = trace
  trace.recording.defaultAnswers = defaultAnswers(exception)
  // For a request without a route, the error of the route table explains more.
  const notFoundMessage = `Cannot ${request.method} ${request.originalUrl}`
  const isUnrouted = request.is404 && exception instanceof NotFoundException && exception.message === notFoundMessage
  // Errors of Fastify reach the filters as exceptions of Nest.
  if (!isUnrouted && !trace.failed) trace.scope.hindsight.recorder?.fail(trace, exception)
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

function recordController (context: ExecutionContext): boolean {
  const [request] = context.getArgs<[FastifyRequest]>()
  const trace = context.getType() === 'http' ? knownTraceOf(request) : undefined
  if (trace === undefined) return true
  const { debug, recording } = trace.services
  // Requests that are profiled only if they fail have no context.
  if (recording !== 'none' && requestContext.getStore() === undefined) requestContext.enterWith(trace.context)
  if (!debug || !trace.recording.isRecording) return true
  trace.recording.controller = `${context.getClass().name}.${context.getHandler().name}`
  setCurrentCode(trace, 'handler')
  return true
}

/** A `ConsoleLogger` for `NestFactory.create` that also adds the lines of a request to its profile. */
export class HindsightLogger extends ConsoleLogger {
  protected override printMessages (
    messages: unknown[], context = '', level: LogLevel = 'log', ...others: [to?: Stream, stack?: unknown, data?: object]
  ): void {
    super.printMessages(messages, context, level, ...others)
    const log = currentLog()
    const [, errorStack, data] = others
    for (const message of messages) {
      const stack = errorStack ?? (isError(message) ? textOfStack(message as object) : '')
      const text = isError(message) ? `${nameOf(message)}: ${messageOf(message)}` : inspectValue(message)
      if (level === 'error') log?.keepError([message])
      log?.note(LEVELS[level], {
        channel: context || 'app',
        message: cutText(text, MAX_TEXT),
        context: { ...data, ...(stack !== '' && { stack: cutText(String(stack), MAX_TEXT) }) }
      })
    }
  }
}
