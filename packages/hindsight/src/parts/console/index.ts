import { format } from 'node:util'
import { recordingIn } from '../../recording/trace.js'
import type { LogLevel } from '../../logs/log-record.js'
import { cutBeforeWord } from '../../view/text.js'
import { watchChannels } from '../collect.js'
import type { Part } from '../part.js'

/** Characters of a line. */
const MAX_TEXT = 10_000

/** `console.dir` and what prints tables or counts is published under these names, too, or not at all. */
const LEVELS: Readonly<Record<string, LogLevel>> = {
  log: 'info', info: 'info', debug: 'debug', warn: 'warn', error: 'error'
}

/** The lines that a request writes with `console`: they are in its log. Node.js 22 and later publish them. */
export const consoleLines: Part = {
  name: 'console',
  start: watchChannels(Object.entries(LEVELS).map(([method, level]) =>
    [`console.${method}`, (values: unknown[]) => record(level, values)] as const))
}

/** Whether an object is being formatted: its own methods may write lines. */
let isFormatting = false

function record (level: LogLevel, values: readonly unknown[]): void {
  const { isRecording = false, log } = recordingIn()?.recording ?? {}
  if (!isRecording || log === undefined || isFormatting) return
  // Node.js prints the warnings of the process, which have a line of their own.
  if (typeof values[0] === 'string' && values[0].startsWith(`(${process.release.name}:${process.pid}) `)) return
  isFormatting = true
  try {
    const message = cutBeforeWord(format(...values), MAX_TEXT)
    log.note(level, { channel: 'console', message, context: {} })
    if (level === 'error') log.keepError(values)
  } finally {
    isFormatting = false
  }
}
