import { isAuthorizationCode, isHarmless, MASKED, valueFieldTest } from './names.js'

const MAX_DEPTH = 12
const MAX_ENTRIES = 5_000
/** Characters of one text: a longer one is truncated before it is masked. */
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
export function maskValue (mask: ValueMask, root: unknown): unknown {
  return new ValueMasker(mask).visit(root, false)
}

class ValueMasker {
  readonly #mask: ValueMask
  readonly #ancestors: object[] = []
  #entries = 0

  constructor (mask: ValueMask) {
    this.#mask = mask
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
    if (typeof value === 'function') return `[function ${value.name}]`
    return String(value)
  }

  #object (value: object, hidden: boolean, hasKeys: boolean): unknown {
    if (this.#ancestors.includes(value)) return '[circular]'
    if (this.#ancestors.length >= MAX_DEPTH) return '[too deep]'
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[binary, ${value.byteLength} bytes]`
    this.#ancestors.push(value)
    try {
      if ('toJSON' in value && typeof value.toJSON === 'function') return this.visit(value.toJSON(), hidden, hasKeys)
      if (value instanceof Set || Array.isArray(value)) return this.#items([...value], hidden)
      return this.#fields(value, hidden, hasKeys)
    } catch (error) {
      // A getter, a proxy or a toJSON of the application may throw.
      return `[unreadable: ${this.#mask.text(error instanceof Error ? error.message : String(error))}]`
    } finally {
      this.#ancestors.pop()
    }
  }

  #fields (value: object, hidden: boolean, hasKeys: boolean): unknown {
    const { hides, mentions } = this.#mask
    const entries = value instanceof Map ? [...value] : Object.entries(value)
    const all = entries.map(([name, item]): [string, unknown] => [String(name), item])
    if (value instanceof Error) all.unshift(['name', value.name], ['message', value.message], ['cause', value.cause])
    if (all.length === 0) return {}
    const isValue = valueFieldTest(all, (name) => this.#isSecretName(name))
    // Errors of database clients have both, `{ query: 'select … where token = $1', parameters: ['…'] }`.
    const isOfSecret = all.some(([name, item]) => PARAMETERS.test(name) && typeof item === 'object' &&
      all.some(([other, statement]) => STATEMENT.test(other) && typeof statement === 'string' &&
        [statement, ...Object.values(Object(item))].some((text) => typeof text === 'string' && mentions(text))))
    const kept = this.#bounded(all)
    const shown: Array<[string, unknown]> = []
    let masked = 0
    for (const [name, item] of kept) {
      if (item === undefined) continue
      const isSecret = hides(name) ? !isHarmless(name, item) : isAuthorizationCode(name, item)
      const isHidden = hidden || isSecret || isValue(name) || (isOfSecret && PARAMETERS.test(name))
      const shownName = hasKeys && !WORD.test(name) ? `${MASKED} (${++masked})` : this.#boundedText(name)
      shown.push([shownName, this.visit(item, isHidden, KEYED.test(name))])
    }
    if (kept.length < all.length) shown.push(['…', `${(all.length - kept.length).toLocaleString('en')} more fields`])
    return Object.fromEntries(shown)
  }

  #items (all: unknown[], hidden: boolean): unknown[] {
    const kept = this.#bounded(all)
    const shown = kept.map((item, i) => {
      // Headers are often lists of names and values in turn, and so are the arguments of a command.
      const before = kept[i - 1]
      const isValue = (all.length % 2 === 0 && i % 2 === 1) || (typeof before === 'string' && before.startsWith('-'))
      const isField = typeof item === 'string' && FIELD.test(item)
      return this.visit(item, hidden || (isValue && this.#isSecretName(before) && !isField))
    })
    if (kept.length < all.length) shown.push(`… (${(all.length - kept.length).toLocaleString('en')} more items)`)
    return shown
  }

  // The last segment of a path: `{ path: ['user', 'password'], input: '…' }`.
  #isSecretName (given: unknown): boolean {
    const name: unknown = Array.isArray(given) ? given.at(-1) : given
    return typeof name === 'string' && name.length <= 128 && this.#mask.hides(name)
  }

  #bounded<T> (list: T[]): T[] {
    const free = Math.max(0, MAX_ENTRIES - this.#entries)
    // The note of how many are left out is an entry, too.
    let kept = list
    if (list.length > free) kept = list.slice(0, Math.max(0, free - 1))
    this.#entries += kept.length
    return kept
  }

  #boundedText (given: string): string {
    const { text } = this.#mask
    if (given.length <= MAX_TEXT) return text(given)
    const left = Buffer.byteLength(given.slice(MAX_TEXT)).toLocaleString('en')
    return `${text(given.slice(0, MAX_TEXT))}… (${left} more bytes)`
  }
}
