import { types } from 'node:util'
import { performance } from '../clock.js'
import { classOf, messageOf } from '../errors/thrown-value.js'

/** Milliseconds from which no further method `toJSON` is called. */
const MAX_TIME = 50

interface Methods { iterate: () => Iterator<unknown>, next: () => IteratorResult<unknown>, size: () => number }

// An application may replace methods of the language.
const { apply } = Reflect
const OF_MAP = methodsOf(Map.prototype, Map.prototype.entries, new Map().entries())
const OF_SET = methodsOf(Set.prototype, Set.prototype.values, new Set().values())
const isoText = Date.prototype.toISOString
const timeOf = Date.prototype.getTime

function methodsOf (prototype: object, iterate: unknown, iterator: Iterator<unknown>): Methods {
  const size = Object.getOwnPropertyDescriptor(prototype, 'size')?.get
  return { iterate, next: iterator.next, size } as Methods
}

/** The first items of a set, or pairs of a map, and how many it has. */
export function firstItems (collection: Map<unknown, unknown> | Set<unknown>, max: number) {
  const { iterate, next, size } = types.isMap(collection) ? OF_MAP : OF_SET
  const items: unknown[] = []
  const iterator = apply(iterate, collection, [])
  while (items.length < max) {
    const { done, value } = apply(next, iterator, [])
    if (done === true) break
    items.push(value)
  }
  return { items, size: apply(size, collection, []) }
}

/** A date in ISO 8601, by the methods of the language. */
export function dateText (date: Date): string {
  return Number.isNaN(apply(timeOf, date, [])) ? 'Invalid Date' : apply(isoText, date, [])
}

/**
 * A property of a value or its prototypes that is no getter, undefined where it is one or not certain: no code of the
 * application runs.
 */
export function findProperty (value: unknown, name: string): { value: unknown } | undefined {
  let holder = value
  while (Object(holder) === holder) {
    // A name of a module may not have its value yet: reading it would throw.
    if (types.isProxy(holder) || types.isModuleNamespaceObject(holder)) return undefined
    const property = Object.getOwnPropertyDescriptor(holder, name)
    if (property !== undefined) return property.get ?? property.set ? undefined : { value: property.value }
    holder = Object.getPrototypeOf(holder)
  }
  return { value: undefined }
}

/** Items of a list, or properties by their names: the first ones, and how many there are. */
export interface ObjectEntries {
  isList: boolean
  size: number
  entries: Array<[name: string, value: unknown]>
}

/** Reads at most `max` entries of an object of any class. No getter runs and no trap of a proxy: that has none. */
export function readEntries (value: object, max: number): ObjectEntries {
  if (types.isProxy(value)) return { isList: false, size: 0, entries: [] }
  const entries: ObjectEntries['entries'] = []
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && i < max; i++) entries.push([String(i), dataOf(value, String(i))])
    return { isList: true, size: value.length, entries }
  }
  if (types.isSet(value) || types.isMap(value)) {
    const { items, size } = firstItems(value, max)
    if (types.isSet(value)) return { isList: true, size, entries: items.map((item) => ['', item]) }
    const pairs = items as Array<[unknown, unknown]>
    return { isList: false, size, entries: pairs.map(([key, item]) => [keyText(key), item]) }
  }
  const names = Object.keys(value)
  if (types.isNativeError(value)) {
    for (const name of ['name', 'message', 'cause']) entries.push([name, findProperty(value, name)?.value])
  }
  const size = entries.length + names.length
  for (const name of names.slice(0, max)) entries.push([name, dataOf(value, name)])
  return { isList: false, size, entries }
}

/** Whether an object is a list or has no class: then it has no method but its properties. It must be no proxy. */
export function isPlainObject (value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null
}

function keyText (key: unknown): string {
  return Object(key) === key ? `[${typeof key}]` : String(key)
}

function dataOf (value: object, name: string): unknown {
  const property = Object.getOwnPropertyDescriptor(value, name)
  return (property?.get ?? property?.set) === undefined ? property?.value : '[getter]'
}

/** Finds what JSON has in place of objects. Methods `toJSON` of the application are called for a limited time. */
export class JsonReader {
  #time = MAX_TIME

  /** Null: the object has its entries. */
  replacementOf (value: object): { value: unknown } | null {
    if (types.isProxy(value)) return { value: '[proxy]' }
    if (isPlainObject(value) && !Object.hasOwn(value, 'toJSON')) return null
    if (types.isDate(value)) return { value: dateText(value) }
    const toJson = findProperty(value, 'toJSON')?.value
    return typeof toJson === 'function' ? { value: this.#call(value, toJson as () => unknown) } : null
  }

  #call (value: object, toJson: () => unknown): unknown {
    if (this.#time <= 0) return `[${classOf(value) || 'object'}]`
    const start = performance.now()
    try {
      return apply(toJson, value, [''])
    } catch (error) {
      return `[unreadable: ${messageOf(error)}]`
    } finally {
      this.#time -= performance.now() - start
    }
  }
}
