import { types } from 'node:util'
import { isAuthorizationCode, isHarmless, MASKED, valueFieldTest } from './names.js'
import { cutMasked } from './text.js'
import { findProperty, JsonReader, readEntries, type ObjectEntries } from './read-object.js'

const MAX_DEPTH = 12
const MAX_ENTRIES = 5_000
/** Parameters of a statement in which secret names are searched. */
const MAX_PARAMETERS = 200
/** Characters of one text. */
const MAX_TEXT = 9_000
/** Common names of fields: in a list such as `["token", "id"]` the second item is no value of the first. */
const FIELD = new RegExp('^(?:_?id|uuid|asc|desc|ASC|DESC|name|e?mail|user(?:name)?|login|type|status|state|roles?|' +
  'url|path|date|time|value|key|code|count|created|updated|expires|scope|host|method|query|body|headers?|params?|' +
  'title|token|password|secret|session|cookie|authorization|.{1,40}(?:Id|At|Name|_id|_at|_name))$')

/** Names of a statement, and of its parameters. */
const STATEMENT = /^(?:query|sql|statement|name)$/i
const PARAMETERS = /^(?:params|parameters|bindings|values|args)$/i

/** Names of objects whose fields may have secrets as their names, and fields that are words. */
const KEYED = /(?:sessions|tokens)$/i
const WORD = /^[a-z_]{1,15}$/i

interface ValueMask {
  hides: (name: string) => boolean
  text: (text: string) => string
  mentions: (text: string) => boolean
}

/** Turns any value into plain JSON data, bounded in depth and size, its fields masked by their names. */
export function maskValue (mask: ValueMask, root: unknown, maxText = MAX_TEXT): unknown {
  return new ValueMasker(mask, maxText).visit(root, false)
}

class ValueMasker {
  readonly #mask: ValueMask
  readonly #maxText: number
  readonly #reader = new JsonReader()
  readonly #ancestors: object[] = []
  #entries = 0

  constructor (mask: ValueMask, maxText: number) {
    this.#mask = mask
    this.#maxText = maxText
  }

  visit (value: unknown, hidden: boolean, hasKeys = false): unknown {
    const { text } = this.#mask
    if (value === null || value === undefined) return null
    if (typeof value === 'object') return this.#object(value, hidden, hasKeys)
    if (typeof value === 'boolean') return value
    if (hidden) return MASKED
    if (typeof value === 'string') return this.#boundedText(value)
    if (typeof value === 'bigint' || typeof value === 'symbol') return text(String(value))
    // A card number may have the type number.
    if (Number.isInteger(value) && text(String(value)) === MASKED) return MASKED
    if (Number.isFinite(value)) return value
    if (typeof value === 'function') return `[function ${String(findProperty(value, 'name')?.value ?? '')}]`
    return String(value)
  }

  #object (value: object, hidden: boolean, hasKeys: boolean): unknown {
    if (this.#ancestors.includes(value)) return '[circular]'
    if (this.#ancestors.length >= MAX_DEPTH) return '[too deep]'
    if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) return `[binary, ${value.byteLength} bytes]`
    this.#ancestors.push(value)
    const json = this.#reader.replacementOf(value)
    let shown: unknown
    if (json !== null) shown = this.visit(json.value, hidden, hasKeys)
    else shown = this.#entriesOf(value, hidden, hasKeys)
    this.#ancestors.pop()
    return shown
  }

  #entriesOf (value: object, hidden: boolean, hasKeys: boolean): unknown {
    const free = Math.max(0, MAX_ENTRIES - this.#entries)
    const read = readEntries(value, free)
    // The note of how many are left out is an entry, too.
    if (read.size > free) read.entries.length = Math.max(0, free - 1)
    this.#entries += read.entries.length
    return read.isList ? this.#items(read, hidden) : this.#fields(read, hidden, hasKeys)
  }

  #fields ({ entries, size }: ObjectEntries, hidden: boolean, hasKeys: boolean): unknown {
    const { hides, mentions } = this.#mask
    const isValue = valueFieldTest(entries, (name) => this.#isSecretName(name))
    // Errors of database clients have both, `{ query: 'select … where token = $1', parameters: ['…'] }`.
    const isOfSecret = entries.some(([name, item]) => PARAMETERS.test(name) && typeof item === 'object' &&
      entries.some(([other, statement]) => STATEMENT.test(other) && typeof statement === 'string' &&
        [statement, ...parametersIn(item)].some((text) => typeof text === 'string' && mentions(text))))
    const shown: Array<[string, unknown]> = []
    let masked = 0
    for (const [name, item] of entries) {
      if (item === undefined) continue
      const isSecret = hides(name) ? !isHarmless(name, item) : isAuthorizationCode(name, item)
      const isHidden = hidden || isSecret || isValue(name) || (isOfSecret && PARAMETERS.test(name))
      const shownName = hasKeys && !WORD.test(name) ? `${MASKED} (${++masked})` : this.#boundedText(name)
      shown.push([shownName, this.visit(item, isHidden, KEYED.test(name))])
    }
    if (entries.length < size) shown.push(['…', `${(size - entries.length).toLocaleString('en')} more fields`])
    return Object.fromEntries(shown)
  }

  #items ({ entries, size }: ObjectEntries, hidden: boolean): unknown[] {
    const shown = entries.map(([, item], i) => {
      // Headers are often lists of names and values in turn, and so are the arguments of a command.
      const before = entries[i - 1]?.[1]
      const isValue = (size % 2 === 0 && i % 2 === 1) || (typeof before === 'string' && before.startsWith('-'))
      const isField = typeof item === 'string' && FIELD.test(item)
      return this.visit(item, hidden || (isValue && this.#isSecretName(before) && !isField))
    })
    if (entries.length < size) shown.push(`… (${(size - entries.length).toLocaleString('en')} more items)`)
    return shown
  }

  // The last segment of a path: `{ path: ['user', 'password'], input: '…' }`.
  #isSecretName (given: unknown): boolean {
    const name: unknown = Array.isArray(given) && !types.isProxy(given) ? given[given.length - 1] : given
    return typeof name === 'string' && name.length <= 128 && this.#mask.hides(name)
  }

  #boundedText (given: string): string {
    const { text } = this.#mask
    if (given.length <= this.#maxText) return text(given)
    const { shown, rest } = cutMasked(text, given, this.#maxText)
    if (rest === 0) return shown
    return `${shown}… (${Buffer.byteLength(given.slice(-rest)).toLocaleString('en')} more bytes)`
  }
}

function parametersIn (value: unknown): unknown[] {
  return value === null ? [] : readEntries(value as object, MAX_PARAMETERS).entries.map(([, item]) => item)
}
