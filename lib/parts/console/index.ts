import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { format } from 'node:util'
import { attempt } from '../../attempt.js'
import { workOf } from '../../lifecycle/services.js'
import type { LogLevel } from '../../logs/log-record.js'
import { cut } from '../../view/visible.js'
import type { Part } from '../part.js'

/** Characters of a line. */
const MAX_TEXT = 10_000

/** The lines that a request writes with `console`: they are in its log. Node.js 22 and later publish them. */
export const consoleLines: Part = { name: 'console', start: watchConsole }

/** `console.dir` and what prints tables or counts is published under these names, too, or not at all. */
const LEVELS: Readonly<Record<string, LogLevel>> = {
  log: 'info', info: 'info', debug: 'debug', warn: 'warn', error: 'error'
}
const SUBSCRIBERS = Object.entries(LEVELS).map(([method, level]) => {
  // An exception in a subscriber becomes an uncaught exception of the process.
  const subscriber = (values: unknown): void => attempt(() => record(level, values as unknown[]))
  return [`console.${method}`, subscriber] as const
})

let watchers = 0

function watchConsole (): () => void {
  if (watchers++ === 0) for (const [channel, subscriber] of SUBSCRIBERS) subscribe(channel, subscriber)
  return () => {
    if (--watchers > 0) return
    for (const [channel, subscriber] of SUBSCRIBERS) unsubscribe(channel, subscriber)
  }
}

/** Whether an object is being formatted: its own methods may write lines. */
let isFormatting = false

function record (level: LogLevel, values: readonly unknown[]): void {
  const { isRecording = false, log } = workOf()?.recording ?? {}
  if (!isRecording || log === undefined || isFormatting) return
  isFormatting = true
  try {
    const message = cut(format(...values), MAX_TEXT)
    log.note(level, { channel: 'console', message, context: {} })
  } finally {
    isFormatting = false
  }
}
