import { types } from 'node:util'
import { dateText, firstItems } from '../mask/read-object.js'

/** Objects in a value of which the properties are copied. */
const MAX_DEPTH = 2
/** Properties or items of an object. */
const MAX_ENTRIES = 50
/** Values that are copied of all variables of a call. */
const MAX_VALUES = 1_000
/** Values that are copied at any time: Node.js 20 has the CPU time of the process, with that of its other threads. */
const MIN_VALUES = 100
/** Characters that are masked: more than are shown, as a secret is not recognized by its beginning. */
const MAX_TEXT = 4_000
const MAX_NAME = 100
/** Before a text that is no string of the application: a control character, which is no part of a secret. */
export const WORD = '\u0000'
/** The name of the property with the class of an object. */
export const CLASS = WORD

// An application may replace methods of the language.
const symbolText = Symbol.prototype.toString
const sourceOf = getterOf(RegExp.prototype, 'source') as () => string
const bytesOf = getterOf(Object.getPrototypeOf(Uint8Array.prototype) as object, 'byteLength') as () => number
const { apply } = Reflect

function getterOf (object: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(object, name)?.get
}

/**
 * Copies values of the application as plain data, bounded in depth, size and time. It runs no code of the application:
 * no getter, no trap of a proxy, no method.
 */
export class ValueCopier {
  readonly #clock: () => number
  #time: number
  #values = 0

  /**
   * `time`: milliseconds that it takes at most for more than a few values, by a clock of the CPU time: on a busy
   * machine a thread has to wait.
   */
  constructor (time: number, clock: () => number) {
    this.#clock = clock
    this.#time = time
  }

  /** Whether it copies no more. */
  get isOver (): boolean {
    return this.#values >= MAX_VALUES || (this.#values >= MIN_VALUES && this.#time <= 0)
  }

  copy (value: unknown): unknown {
    const start = this.#clock()
    try {
      return this.#copy(value, 0)
    } catch {
      return `${WORD}[unreadable]`
    } finally {
      this.#time -= this.#clock() - start
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
    if (types.isNativeError(value)) return `${WORD}[${className(value)}: ${textProperty(value, 'message', MAX_TEXT)}]`
    if (types.isPromise(value) || types.isAnyArrayBuffer(value)) return `${WORD}[${className(value)}]`
    if (depth >= MAX_DEPTH || this.isOver) return WORD + summaryOf(value)
    if (Array.isArray(value)) return this.#items(value, depth)
    if (types.isMap(value)) return this.#map(value, depth)
    if (types.isSet(value)) return this.#set(value, depth)
    if (isInterface(value)) return WORD + summaryOf(value)
    return this.#properties(value, depth)
  }

  #items (list: unknown[], depth: number): unknown[] {
    const items: unknown[] = []
    for (let i = 0; i < list.length && i < MAX_ENTRIES && !this.isOver; i++) {
      items.push(this.#property(list, String(i), depth + 1))
    }
    // A list of names and values in turn is masked where its length is even.
    if (list.length > items.length && (list.length - items.length) % 2 === 0) items.pop()
    if (list.length > items.length) items.push(omission(list.length - items.length))
    return items
  }

  #map (map: Map<unknown, unknown>, depth: number): object {
    const copied: Array<[string, unknown]> = [[CLASS, `${WORD}Map`]]
    const { items, size } = firstItems(map, MAX_ENTRIES)
    for (const [key, item] of items as Array<[unknown, unknown]>) {
      if (this.isOver) break
      const name = this.#copy(key, MAX_DEPTH)
      copied.push([String(name).replace(/^\0/, ''), this.#copy(item, depth + 1)])
    }
    if (size >= copied.length) copied.push(['…', omission(size - copied.length + 1)])
    return Object.fromEntries(copied)
  }

  #set (set: Set<unknown>, depth: number): unknown[] {
    const copied: unknown[] = []
    const { items, size } = firstItems(set, MAX_ENTRIES)
    for (const item of items) if (!this.isOver) copied.push(this.#copy(item, depth + 1))
    if (size > copied.length) copied.push(omission(size - copied.length))
    return copied
  }

  /** Functions are left out, and of an object of a library also its internals. */
  #properties (value: object, depth: number): object {
    const names = Object.keys(value)
    const isOfLibrary = hasSymbols(value)
    const name = className(value)
    const copied: Array<[string, unknown]> = []
    if (name !== 'Object') copied.push([CLASS, WORD + name])
    const max = copied.length + MAX_ENTRIES
    let read = 0
    for (; read < names.length && copied.length < max && !this.isOver; read++) {
      const key = names[read] as string
      const item: unknown = Object.getOwnPropertyDescriptor(value, key)?.value
      if (typeof item === 'function' || (isOfLibrary && isInternal(key, item))) continue
      copied.push([key.slice(0, MAX_TEXT), this.#property(value, key, depth + 1)])
    }
    if (read < names.length) copied.push(['…', omission(names.length - read)])
    return Object.fromEntries(copied)
  }

  #property (value: object, name: string, depth: number): unknown {
    const descriptor = Object.getOwnPropertyDescriptor(value, name)
    if (descriptor?.get !== undefined || descriptor?.set !== undefined) return `${WORD}[getter]`
    return this.#copy(descriptor?.value, depth)
  }
}

/** Whether an object has symbols as names: by them, libraries keep internals. */
function hasSymbols (value: object): boolean {
  return Object.getOwnPropertySymbols(value).length > 0
}

/** Whether a property of an object of a library explains nothing about a request. */
function isInternal (name: string, value: unknown): boolean {
  if (name.startsWith('_')) return true
  return typeof value === 'object' && value !== null && !types.isProxy(value) &&
    (hasSymbols(value) || isInterface(value))
}

/** Whether an object has more functions than data, such as an application or a logger. */
function isInterface (value: object): boolean {
  const names = Object.keys(value).slice(0, MAX_ENTRIES)
  const functions = names.filter((name) => typeof Object.getOwnPropertyDescriptor(value, name)?.value === 'function')
  return functions.length > names.length / 2
}

function omission (count: number): string {
  return `${WORD}… ${count} more`
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
  // Fastify has a class `_Request` for each scope.
  return textProperty(constructor, 'name').replace(/^_/, '') || 'Object'
}

function textProperty (value: object, name: string, length = MAX_NAME): string {
  const text: unknown = Object.getOwnPropertyDescriptor(value, name)?.value
  return typeof text === 'string' ? text.slice(0, length) : ''
}
