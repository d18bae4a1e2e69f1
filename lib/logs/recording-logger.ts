import type pino from 'pino'
import type { FastifyBaseLogger } from 'fastify'
import type { RequestLog } from './request-log.js'

type ChildArguments = [bindings: pino.Bindings, options?: pino.ChildLoggerOptions]
type Level = 'debug' | 'info' | 'warn' | 'error' | 'fatal'

const LEVELS: ReadonlySet<PropertyKey> = new Set<Level>(['debug', 'info', 'warn', 'error', 'fatal'])

/**
 * The logger, with its calls from level debug up recorded in `log`: the logger that `makeFormatter` makes formats them.
 * The logger still does everything itself, as `this`, since it may have private fields. Its children are recorded too.
 */
export function recordingLogger (
  logger: FastifyBaseLogger, log: RequestLog, makeFormatter: () => pino.Logger
): FastifyBaseLogger {
  let made: pino.Logger | undefined
  const formatter = (): pino.Logger => (made ??= makeFormatter())

  function record (level: Level, args: unknown[], write: () => unknown): unknown {
    const before = log.size
    const result = write()
    // A logger that writes through pino leads to a line of pino's, which is captured already.
    if (log.size === before) attempt(() => formatter()[level](...args as [string]))
    return result
  }

  function recordingChild (child: unknown, [bindings, options]: ChildArguments): unknown {
    if (typeof child !== 'object' || child === null) return child
    const makeChild = (): pino.Logger => attempt(() => formatter().child(bindings, options)) ?? formatter()
    return recordingLogger(child as FastifyBaseLogger, log, makeChild)
  }

  const recording = new Proxy(logger, {
    get (target, key) {
      const value: unknown = Reflect.get(target, key, target)
      // A class is not called with the logger as `this`.
      if (typeof value !== 'function' || key === 'constructor' || isFixed(target, key)) return value
      return (...args: unknown[]) => {
        const call = (): unknown => Reflect.apply(value, target, args)
        if (LEVELS.has(key)) return record(key as Level, args, call)
        if (key === 'child') return recordingChild(call(), args as ChildArguments)
        // A method that the application added to the logger calls those that record.
        return Object.hasOwn(target, key) ? Reflect.apply(value, recording, args) : call()
      }
    },
    set: (target, key, value) => Reflect.set(target, key, value, target)
  })
  return recording
}

/** Whether a proxy has to return the property as it is (ECMA-262, 10.5.8); its calls cannot be recorded then. */
function isFixed (target: object, key: PropertyKey): boolean {
  const property = Reflect.getOwnPropertyDescriptor(target, key)
  return property?.configurable === false && property.writable === false
}

// The application's logger may take fields, bindings and options that pino refuses.
function attempt<T> (format: () => T): T | undefined {
  try {
    return format()
  } catch {
    return undefined
  }
}
