import { parsedJson } from '../call.js'
import { cutBeforeWord, inspectValue } from '../view/text.js'

/** Characters of one line. Of a longer one only the message is kept. */
export const MAX_LINE = 32 * 1024

/** The text of a line that no logger wrote. */
export interface PlainLine { channel: string, message: string, context: Fields }

/** A line as pino wrote it. The keys of its message and of its fields depend on the options of the logger. */
export interface PinoLine {
  text: string
  /** The message that the logger received; undefined where it received fields only. */
  message?: unknown
  /** The name of one of the fields. */
  field?: string | undefined
}

type Fields = Record<string, unknown>

/** The fields of a line; none where it is not JSON. */
export function lineFields ({ text }: PinoLine): Fields | null {
  const fields = parsedJson(text)
  if (fields === undefined) return null
  return Object(fields) as Fields
}

/** The key of the message of a line, which pino writes last: a field with the same key has an earlier place. */
export function messageKey (fields: Fields | null, { message }: PinoLine): string | undefined {
  const keys = Object.keys(fields ?? {})
  return keys.findLast((key) => fields?.[key] === message) ?? keys.at(-1)
}

/** `keyOfOthers`: the key of the message in other lines. */
export function parsedLine (line: PinoLine, keyOfOthers?: string): PlainLine {
  const { text, message: given, field } = line
  const all = lineFields(line)
  if (all === null) return { channel: 'app', message: text.trimEnd(), context: {} }
  const key = (given === undefined ? keyOfOthers : messageKey(all, line)) ?? ''
  const { level: _level, time: _time, pid: _pid, hostname: _hostname, reqId: _reqId, channel, ...context } = all
  const isNested = field !== undefined && !(field in all)
  const nested = isNested ? Object.values(context).find((value) => Object.hasOwn(Object(value) as object, field)) : null
  const fields = (nested ?? all) as Fields
  const message = all[key] ?? fields[key] ?? Object.values(fields).find(isSerializedError)?.message ?? ''
  delete context[key]
  return {
    channel: channelOf(channel ?? fields.channel, fields),
    message: typeof message === 'string' ? message : inspectValue(message),
    context
  }
}

function channelOf (given: unknown, fields: Fields): string {
  if (typeof given === 'string') return given
  if ('req' in fields || 'res' in fields) return 'request'
  return 'app'
}

function isSerializedError (value: unknown): value is { message: string } {
  const { message, stack } = Object(value) as { message?: unknown, stack?: unknown }
  return typeof message === 'string' && typeof stack === 'string'
}

export function cutLine (line: PinoLine): PlainLine {
  const { channel, message } = parsedLine(line)
  const note = `${line.text.length.toLocaleString('en')} characters: the fields of this line were left out`
  // Copied, since a slice would keep the whole string in memory.
  return { channel, message: Buffer.from(cutBeforeWord(message, MAX_LINE)).toString(), context: { cut: note } }
}
