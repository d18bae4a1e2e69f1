import { types } from 'node:util'

/** Objects in a value of which the properties are copied. */
const MAX_DEPTH = 2
/** Properties or items of an object. */
const MAX_ENTRIES = 50
/** Values that are copied of all variables of a call. */
const MAX_VALUES = 1_000
/** Characters that are masked: more than are shown, as a secret is not recognized by its beginning. */
const MAX_TEXT = 4_000
const MAX_NAME = 100
/** Before a text that is no string of the application: a control character, which is no part of a secret. */
export const WORD = '\u0000'
/** The name of the property with the class of an object. */
export const CLASS = WORD

// An application may replace methods of the language.
const { entries: entriesOf } = Map.prototype
const { values: valuesOf } = Set.prototype
const nextEntry = methodOf(new Map().entries(), 'next') as () => IteratorResult<[unknown, unknown]>
const nextValue = methodOf(new Set().values(), 'next') as () => IteratorResult<unknown>
const isoText = methodOf(Date.prototype, 'toISOString') as () => string
const timeOf = methodOf(Date.prototype, 'getTime') as () => number
const symbolText = methodOf(Symbol.prototype, 'toString') as () => string
const sourceOf = getterOf(RegExp.prototype, 'source') as () => string
const bytesOf = getterOf(Object.getPrototypeOf(Uint8Array.prototype) as object, 'byteLength') as () => number
const sizeOfMap = getterOf(Map.prototype, 'size') as () => number
const sizeOfSet = getterOf(Set.prototype, 'size') as () => number
const { apply } = Reflect

function methodOf (object: object, name: string): unknown {
  const owner = Object.hasOwn(object, name) ? object : Object.getPrototypeOf(object) as object
  return Object.getOwnPropertyDescriptor(owner, name)?.value
}

function getterOf (object: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(object, name)?.get
}

/**
 * Copies values of the application as plain data, bounded in depth, size and time. It runs no code of the application:
 * no getter, no trap of a proxy, no method.
 */
export class ValueCopier {
  #time: number
  #values = 0

  /** `time`: milliseconds that it takes at most. */
  constructor (time: number) {
    this.#time = time
  }

  /** Whether it copies no more. */
  get isOver (): boolean {
    return this.#values >= MAX_VALUES || this.#time <= 0
  }

  copy (value: unknown): unknown {
    const start = performance.now()
    try {
      return this.#copy(value, 0)
    } catch {
      return `${WORD}[unreadable]`
    } finally {
      this.#time -= performance.now() - start
    }
  }

  #copy (value: unknown, depth: number): unknown {
    this.#values++
    if (value === null || typeof value === 'boolean') return value
    if (typeof value === 'string') return value.slice(0, MAX_TEXT).replace(/^\0/, '')
    if (typeof value === 'number') return Number.isFinite(value) ? value : WORD + String(value)
    if (typeof value === 'bigint') return `${WORD}${value.toString().slice(0, MAX_TEXT)}n`
    if (typeof value === 'symbol') return WORD + apply(symbolText, value, [])
    if (value === undefined) return `${WORD}undefined`
    if (types.isProxy(value)) return `${WORD}[Proxy]`
    if (typeof value === 'function') return `${WORD}[function ${textProperty(value, 'name')}]`.replace(' ]', ']')
    return this.#object(value, depth)
  }

  #object (value: object, depth: number): unknown {
    if (types.isDate(value)) return WORD + dateText(value)
    if (types.isRegExp(value)) return `${WORD}/${apply(sourceOf, value, [])}/`
    if (types.isTypedArray(value)) return `${WORD}[${className(value)}, ${apply(bytesOf, value, [])} bytes]`
    if (types.isNativeError(value)) return `${WORD}[${className(value)}: ${textProperty(value, 'message')}]`
    if (types.isPromise(value) || types.isAnyArrayBuffer(value)) return `${WORD}[${className(value)}]`
    if (depth >= MAX_DEPTH || this.isOver) return WORD + summaryOf(value)
    if (Array.isArray(value)) return this.#items(value, depth)
    if (types.isMap(value)) return this.#map(value, depth)
    if (types.isSet(value)) return this.#set(value, depth)
    return this.#properties(value, depth)
  }

  #items (list: unknown[], depth: number): unknown[] {
    const items: unknown[] = []
    for (let i = 0; i < list.length && i < MAX_ENTRIES && !this.isOver; i++) {
      items.push(this.#property(list, String(i), depth + 1))
    }
    if (list.length > items.length) items.push(omission(list.length - items.length))
    return items
  }

  #map (map: Map<unknown, unknown>, depth: number): object {
    const copied: Array<[string, unknown]> = [[CLASS, `${WORD}Map`]]
    const entries = apply(entriesOf, map, [])
    const size = apply(sizeOfMap, map, [])
    for (let i = 0; i < size && i < MAX_ENTRIES && !this.isOver; i++) {
      const { value: [key, item] } = apply(nextEntry, entries, []) as { value: [unknown, unknown] }
      const name = this.#copy(key, MAX_DEPTH)
      copied.push([String(name).replace(/^\0/, ''), this.#copy(item, depth + 1)])
    }
    return withRest(copied, size)
  }

  #set (set: Set<unknown>, depth: number): unknown[] {
    const items: unknown[] = []
    const values = apply(valuesOf, set, [])
    const size = apply(sizeOfSet, set, [])
    for (let i = 0; i < size && i < MAX_ENTRIES && !this.isOver; i++) {
      items.push(this.#copy((apply(nextValue, values, []) as { value: unknown }).value, depth + 1))
    }
    if (size > items.length) items.push(omission(size - items.length))
    return items
  }

  #properties (value: object, depth: number): object {
    const names = Object.keys(value)
    const name = className(value)
    const copied: Array<[string, unknown]> = []
    if (name !== 'Object') copied.push([CLASS, WORD + name])
    for (const key of names.slice(0, MAX_ENTRIES)) {
      if (this.isOver) break
      copied.push([key.slice(0, MAX_NAME), this.#property(value, key, depth + 1)])
    }
    return withRest(copied, names.length)
  }

  #property (value: object, name: string, depth: number): unknown {
    const descriptor = Object.getOwnPropertyDescriptor(value, name)
    if (descriptor?.get !== undefined || descriptor?.set !== undefined) return `${WORD}[getter]`
    return this.#copy(descriptor?.value, depth)
  }
}

function withRest (copied: Array<[string, unknown]>, count: number): object {
  const isNamed = copied[0]?.[0] === CLASS
  const rest = count - copied.length + (isNamed ? 1 : 0)
  if (rest > 0) copied.push(['…', omission(rest)])
  return Object.fromEntries(copied)
}

function omission (count: number): string {
  return `${WORD}… ${count} more`
}

function dateText (date: Date): string {
  if (Number.isNaN(apply(timeOf, date, []))) return 'Invalid Date'
  return apply(isoText, date, [])
}

/** An object without its properties. */
function summaryOf (value: object): string {
  if (Array.isArray(value)) return `Array(${value.length})`
  const name = className(value)
  return name === 'Object' ? '{…}' : `${name} {…}`
}

/** The name of the class of an object that is no proxy. */
function className (value: object): string {
  const prototype = Object.getPrototypeOf(value) as object | null
  if (prototype === null || types.isProxy(prototype)) return 'Object'
  const constructor: unknown = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value
  if (typeof constructor !== 'function' || types.isProxy(constructor)) return 'Object'
  return textProperty(constructor, 'name') || 'Object'
}

function textProperty (value: object, name: string): string {
  const text: unknown = Object.getOwnPropertyDescriptor(value, name)?.value
  return typeof text === 'string' ? text.slice(0, MAX_NAME) : ''
}
