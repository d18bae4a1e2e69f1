import { isDeepStrictEqual, types } from 'node:util'
import { classOf } from '../../errors/thrown-value.js'
import { snapshotOf } from '../collect.js'

/** A value that is not the same before and after. */
export interface ValueChange {
  /** The names of fields, and the positions in lists. */
  path: ReadonlyArray<string | number>
  kind: 'changed' | 'removed' | 'added'
  from: Side
  to: Side
  /** The object or list that has the value: its other fields may show that it is a secret. */
  near: object
  /** More than one: that many items of a list are changed in the same way. */
  count: number
}

/** The type of a value as in JSON Schema, or the name of another one, such as `undefined` and `Date`. */
export interface Side { type: string, copy?: unknown }

const MAX_VALUES = 5_000
const MAX_DEPTH = 16
const MAX_CHANGES = 50
export const JSON_TYPES: ReadonlySet<string> =
  new Set(['string', 'integer', 'number', 'boolean', 'null', 'array', 'object'])
/** The value of a getter of the application: it is not called. */
const UNREAD = Symbol('unread')

type Fields = Readonly<Record<string, unknown>>

function isObject (value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}

// Parsers of queries and paths make objects with an empty prototype.
function isPlain (value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return Array.isArray(value) || prototype === null || Object.getPrototypeOf(prototype) === null
}

/** A copy of plain objects and lists, which has other values as they are; undefined if it would be too large. */
export function copyOf (root: unknown): unknown {
  let left = MAX_VALUES
  const copy = (value: unknown, depth: number): unknown => {
    left--
    if (depth > MAX_DEPTH) left = 0
    if (!isObject(value) || left <= 0 || types.isProxy(value) || !isPlain(value)) return value
    if (Array.isArray(value)) return value.map((item) => copy(item, depth + 1))
    const result: Record<string, unknown> = {}
    for (const name of Object.keys(value)) result[name] = copy(value[name], depth + 1)
    return result
  }
  const value = copy(root, 0)
  return left > 0 ? value : undefined
}

/** The path of the first value that is searched for; null if there is none. No code of the application is called. */
export function pathTo (
  root: unknown, isWanted: (value: unknown, ancestors: readonly object[]) => boolean
): ValueChange['path'] | null {
  const [path, ancestors]: [Array<string | number>, object[]] = [[], []]
  let left = MAX_VALUES
  const visit = (value: unknown): boolean => {
    if (left-- <= 0 || value === UNREAD || (isObject(value) && types.isProxy(value))) return false
    if (isWanted(value, ancestors)) return true
    if (!isObject(value) || 'toJSON' in value || ancestors.length > MAX_DEPTH) return false
    ancestors.push(value)
    const isFound = Object.keys(value).some((name) => {
      path.push(keyOf(value, name))
      if (visit(fieldOf(value, name))) return true
      path.pop()
      return false
    })
    ancestors.pop()
    return isFound
  }
  return visit(root) ? path : null
}

/** Whether JSON has no such value: `undefined`, a date, or an instance without fields, such as a Map. */
export function isOther (value: unknown): boolean {
  if (typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)) return false
  if (!isObject(value)) return value !== null
  return 'toJSON' in value || ArrayBuffer.isView(value) || (!isPlain(value) && Object.keys(value).length === 0)
}

/** Whether `JSON.stringify` throws for a value. */
export function isUnserializable (value: unknown, ancestors: readonly object[]): boolean {
  return typeof value === 'bigint' || (isObject(value) && ancestors.includes(value))
}

function fieldOf (object: object, name: string): unknown {
  const field = Object.getOwnPropertyDescriptor(object, name)
  if (field === undefined || !('value' in field)) return UNREAD
  return field.value
}

/** The name of a field, or the position in a list. */
function keyOf (value: object, name: string): string | number {
  return Array.isArray(value) ? Number(name) : name
}

/**
 * The values that differ, at most fifty; those of the items of a list that differ in the same way are one. `isMade`:
 * the application has made the first value, of which no getter is called.
 */
export function changesOf (before: unknown, after: unknown, isMade = false): ValueChange[] {
  const changes = new Map<string, ValueChange>()
  const path: Array<string | number> = []
  let left = MAX_VALUES

  function add (kind: ValueChange['kind'], one: unknown, other: unknown, near: object): void {
    const [from, to] = [sideOf(one, isMade), sideOf(other)]
    // A number that was parsed has fewer digits than a BigInt.
    if (typeof one === 'bigint' && !Number.isSafeInteger(other)) delete to.copy
    const kinds = [kind, from.type, to.type].map((type) => type.replace(/^integer$/, 'number'))
    const key = [...kinds, ...path.map((name) => typeof name === 'number' ? '[]' : name)].join('\n')
    const known = changes.get(key)
    if (known !== undefined) known.count++
    else if (changes.size < MAX_CHANGES) changes.set(key, { path: [...path], kind, from, to, near, count: 1 })
  }

  function compare (from: unknown, to: unknown, near: object): void {
    if (from === to || from === UNREAD || left-- <= 0 || path.length > MAX_DEPTH || Object.is(from, to)) return
    if (types.isProxy(from) || types.isProxy(to)) return
    if (!isObject(from) || !isObject(to) || ArrayBuffer.isView(from)) return add('changed', from, to, near)
    // The application makes what is sent for it.
    if ('toJSON' in from || 'toJSON' in to) return
    const isList = Array.isArray(from)
    const [names, others] = [Object.keys(from), Object.keys(to)]
    const isOtherKind = isList !== Array.isArray(to) || (isList && names.length !== others.length)
    if (isOtherKind || (names.length + others.length === 0 && !isPlain(from))) return add('changed', from, to, near)
    for (const name of names) {
      const value = fieldOf(from, name)
      const other = to[name]
      if (value === other && other !== undefined) continue
      path.push(keyOf(from, name))
      if (!Object.hasOwn(to, name)) {
        if (value !== UNREAD) add('removed', value, undefined, to)
      } else if (value === undefined && !isList) add('added', value, other, to)
      else compare(value, other, to)
      path.pop()
    }
    for (const name of others) {
      // Of an instance, fields of its class may be sent.
      if (name in from) continue
      path.push(name)
      add('added', undefined, to[name], to)
      path.pop()
    }
  }

  // Most requests are not changed.
  if (isMade || !isDeepStrictEqual(before, after)) compare(before, after, {})
  if (left <= 0) return []
  return [...changes.values()]
}

function sideOf (value: unknown, isMade = false): Side {
  const type = typeOf(value)
  return { type, ...(JSON_TYPES.has(type) && !(isMade && isObject(value)) && { copy: snapshotOf(value) }) }
}

function typeOf (value: unknown): string {
  if (Number.isInteger(value)) return 'integer'
  if (Number.isFinite(value)) return 'number'
  if (typeof value === 'number' || value === null) return String(value)
  if (typeof value === 'bigint') return 'BigInt'
  if (!isObject(value)) return typeof value
  if (Array.isArray(value)) return 'array'
  if (types.isProxy(value) || isPlain(value)) return 'object'
  return (classOf(value) || 'object').slice(0, 60)
}
