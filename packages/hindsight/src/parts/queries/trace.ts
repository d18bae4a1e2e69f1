import { types } from 'node:util'
import { attemptCall } from '../../call.js'
import { shortFile } from '../../errors/stack-frame.js'
import { cutText, formatInteger } from '../../view/text.js'
import { lineOf } from '../read.js'
import { isPlain } from './mask-document.js'
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
  return copy(parameters, 0, { left: MAX_ALL })
}

interface Budget { left: number }

function copy (value: unknown, depth: number, budget: Budget): unknown {
  if (typeof value === 'string') return cutText(value, MAX_TEXT)
  if (typeof value !== 'object' || value === null) return value
  if (ArrayBuffer.isView(value)) {
    const { buffer, byteOffset, byteLength } = value
    if (byteLength > MAX_BINARY) return `[binary, ${byteLength} bytes]`
    return Buffer.from(Buffer.from(buffer, byteOffset, byteLength))
  }
  if (depth >= MAX_DEPTH) return '[too deep]'
  if (types.isRegExp(value)) return String(value)
  if (types.isMap(value) || types.isSet(value)) return copy([...value], depth + 1, budget)
  if (Array.isArray(value)) return copyList(value, depth, budget)
  // Instances of classes, such as dates and identifiers, are serialized when the profile is made.
  if (!isPlain(value)) return value
  return copyFields(value, depth, budget)
}

/** The number of entries that are copied. */
function takeEntries (length: number, budget: Budget): number {
  const count = Math.min(length, MAX_ENTRIES, Math.max(0, budget.left))
  budget.left -= count
  return count
}

function copyList (list: readonly unknown[], depth: number, budget: Budget): unknown[] {
  const count = takeEntries(list.length, budget)
  const items = list.slice(0, count).map((item) => copy(item, depth + 1, budget))
  if (list.length > count) items.push(`… (${formatInteger(list.length - count)} more items)`)
  return items
}

function copyFields (value: Record<string, unknown>, depth: number, budget: Budget): Record<string, unknown> {
  const names = Object.keys(value)
  const count = takeEntries(names.length, budget)
  const fields = names.slice(0, count).map((name): [string, unknown] => [name, copy(value[name], depth + 1, budget)])
  if (names.length > count) fields.push(['…', `${formatInteger(names.length - count)} more fields`])
  return Object.fromEntries(fields)
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
