import { types } from 'node:util'
import { attemptCall } from '../../call.js'
import { shortFile } from '../../errors/stack-frame.js'
import { JsonReader, readEntries } from '../../mask/read-object.js'
import { cutBeforeWord, formatInteger } from '../../view/text.js'
import { lineOf } from '../read.js'
import type { RecordedQuery } from './recorded-query.js'

/** A query with what is compared of it, and not stored. */
export interface Traced extends RecordedQuery {
  index: number
  /** The same for two queries of the same data. */
  identity: string
  /** Whether its parameters have all conditions of the query. */
  isComplete: boolean
  isRead: boolean
  /** The calls in the application's code, the innermost first. */
  frames: ReadonlyArray<{ source: string }>
  /** The same for queries of one database. */
  client: number
  /** The same for queries of one connection; that of `client` for those of a pool, and undefined where unknown. */
  connection?: number | undefined
  /** How many connections its pool has, where it waited as all of them were in use. */
  exhausted?: number | undefined
}

/** Characters of a text, entries of a list or an object, depth and entries in all of a copy of parameters. */
const MAX_TEXT = 2_000
const MAX_ENTRIES = 200
const MAX_DEPTH = 12
const MAX_ALL = 2_000
/** Bytes of binary content that may be an identifier. */
const MAX_BINARY = 64

/** A bounded copy of parameters: an application may change them when the query was sent. */
export function copyOfParameters (parameters: unknown): unknown {
  return copy(parameters, 0, { left: MAX_ALL, reader: new JsonReader() })
}

interface Budget { left: number, reader: JsonReader }

function copy (value: unknown, depth: number, budget: Budget): unknown {
  if (typeof value === 'string') return cutBeforeWord(value, MAX_TEXT)
  if (typeof value !== 'object' || value === null) return value
  if (ArrayBuffer.isView(value)) {
    const { buffer, byteOffset, byteLength } = value
    if (byteLength > MAX_BINARY) return `[binary, ${byteLength} bytes]`
    return Buffer.from(Buffer.from(buffer, byteOffset, byteLength))
  }
  if (depth >= MAX_DEPTH) return '[too deep]'
  if (types.isRegExp(value)) return String(value)
  const json = budget.reader.replacementOf(value)
  if (json !== null) return copy(json.value, depth + 1, budget)
  const { isList, size, entries } = readEntries(value, Math.min(MAX_ENTRIES, budget.left))
  budget.left -= entries.length
  const copied = entries.map(([name, item]): [string, unknown] => [name, copy(item, depth + 1, budget)])
  const omitted = formatInteger(size - entries.length)
  if (size > entries.length) copied.push(['…', isList ? `… (${omitted} more items)` : `${omitted} more fields`])
  return isList ? copied.map(([, item]) => item) : Object.fromEntries(copied)
}

/** What is left of values that are too long. */
export const SHORTENED =
  /… \([\d,]+ more (?:characters|items)\)|"…":"[\d,]+ more fields"|\[binary, \d+ bytes\]|\[too deep\]/

/** A text that two values have in common if they are equal; null: it is not certain, as a part of them is unknown. */
export function identityOf (value: unknown): string | null {
  // With the function it takes twice as long.
  const text = attemptCall(() => JSON.stringify(value) as string | undefined ?? '', () => attemptCall(() =>
    JSON.stringify(value, (_, item: unknown) => typeof item === 'bigint' ? `${item}n` : item)))
  if (text === undefined || SHORTENED.test(text)) return null
  return text
}

/** `file:line` of the code that sent a query; without a line, what sent it. */
export function queryPlace ({ source, sender }: Pick<RecordedQuery, 'source' | 'sender'>): string {
  if (source !== null) return shortFile(lineOf(source))
  return sender ?? 'an unknown line'
}
