import { isAuthorizationCode, isHarmless } from './names.js'
import { MASKED, type MaskParts } from './parts.js'

const MAX_DEPTH = 12
const MAX_ARGUMENTS = 100
const MAX_ENTRIES = 5_000
/** Of one text: what is longer is cut ahead of being looked through. */
const MAX_TEXT = 9_000

/** Makes what turns any value into plain JSON data, bounded in depth and size, its fields masked by their names. */
export function valueMask (parts: MaskParts): (value: unknown) => unknown {
  return root => typeof root === 'object' && root !== null && isEmpty(root) ? {} : new Visit(parts).visit(root, false)
}

/** A text that can be looked through in time; what is left of a longer one does not hold on to the whole. */
export function boundedText (text: string, mask: (text: string) => string): string {
  if (text.length <= MAX_TEXT) return mask(text)
  const kept = Buffer.from(text.slice(0, MAX_TEXT)).toString()
  return `${mask(kept)}… (${Buffer.byteLength(text.slice(MAX_TEXT)).toLocaleString('en')} more bytes)`
}

// Of most requests there is no query and there are no cookies.
function isEmpty (value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return false
  return Object.keys(value).length === 0
}

class Visit {
  readonly #parts: MaskParts
  readonly #ancestors = new Set<object>()
  #entries = 0

  constructor (parts: MaskParts) {
    this.#parts = parts
  }

  visit (value: unknown, hidden: boolean): unknown {
    if (value === null || value === undefined) return null
    if (typeof value === 'object') return this.#object(value, hidden)
    if (typeof value === 'boolean') return value
    if (hidden) return MASKED
    if (typeof value === 'string') return boundedText(value, this.#parts.text)
    // A number of a card has 14 digits at least.
    if (typeof value === 'number' && Number.isFinite(value)) {
      return value > 1e13 && this.#parts.text(String(value)) === MASKED ? MASKED : value
    }
    return typeof value === 'function' ? `[function ${value.name}]` : String(value)
  }

  #object (value: object, hidden: boolean): unknown {
    if (this.#ancestors.has(value)) return '[circular]'
    if (this.#ancestors.size >= MAX_DEPTH) return '[too deep]'
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[binary, ${value.byteLength} bytes]`
    if (value instanceof RegExp) return hidden ? MASKED : this.#parts.text(String(value))
    this.#ancestors.add(value)
    try {
      return this.#members(value, hidden)
    } catch (error) {
      // A getter, a proxy or a toJSON of the application may throw.
      return `[unreadable: ${this.#parts.text(error instanceof Error ? error.message : String(error))}]`
    } finally {
      this.#ancestors.delete(value)
    }
  }

  #members (value: object, hidden: boolean): unknown {
    if ('toJSON' in value && typeof value.toJSON === 'function') return this.visit(value.toJSON(), hidden)
    if (value instanceof Set || Array.isArray(value)) return this.#items([...value], hidden)
    const all: Array<[string, unknown]> = value instanceof Map
      ? [...value].map(([name, item]) => [String(name), item])
      : Object.entries(value)
    if (value instanceof Error) all.unshift(['name', value.name], ['message', value.message], ['cause', value.cause])
    const { hides, idle, text } = this.#parts
    const hiddenNames = idle ? null : hiddenNamesOf(all, hides)
    const kept = this.#bounded(all)
    const shown: Array<[string, unknown]> = kept
      .filter(([, item]) => item !== undefined)
      .map(([name, item]) => [
        boundedText(name, text),
        this.visit(item, hidden || hiddenNames?.test(name) === true || this.#hides(name, item))
      ])
    if (kept.length < all.length) shown.push(['…', `${(all.length - kept.length).toLocaleString('en')} more fields`])
    return Object.fromEntries(shown)
  }

  #hides (name: string, value: unknown): boolean {
    const { hides, idle } = this.#parts
    return hides(name) ? !isHarmless(name, value) : !idle && isAuthorizationCode(name, value)
  }

  // The arguments of a command are judged together: `['curl', '-u', 'user:password']`.
  #joined (all: unknown[]): unknown[] {
    if (all.length > MAX_ARGUMENTS || !all.every((item) => typeof item === 'string' && /^\S+$/.test(item))) return all
    if (!all.some((item) => String(item).startsWith('-'))) return all
    const shown = this.#parts.text(all.join(' ')).split(' ')
    return shown.length === all.length ? shown : all
  }

  // Headers are often lists of names and values in turn, and so are the arguments of a command.
  #items (all: unknown[], hidden: boolean): unknown[] {
    const kept = this.#bounded(this.#joined(all))
    const paired = all.length % 2 === 0
    const shown = kept.map((item, i) => {
      const before = i === 0 ? undefined : kept[i - 1]
      const named = typeof before === 'string' && before.length <= 128 &&
        ((paired && i % 2 === 1) || before.startsWith('-')) && this.#parts.hides(before)
      return this.visit(item, hidden || named)
    })
    if (kept.length < all.length) shown.push(`… (${(all.length - kept.length).toLocaleString('en')} more items)`)
    return shown
  }

  #bounded<T> (items: T[]): T[] {
    const room = Math.max(0, MAX_ENTRIES - this.#entries)
    // The note of how many are left out needs its place too.
    const kept = items.length <= room ? items : items.slice(0, Math.max(0, room - 1))
    this.#entries += kept.length
    return kept
  }
}

const NAME_FIELD = /^(?:name|key|k|field|header|id|label|param|variable|property|path|instancePath|type)$/i
const VALUE_FIELD = /^(?:values?|v|content|data|input|received)$/i
const PRIVATE_MEMBER = /^(?:d|p|q|dp|dq|qi|k|oth)$/

/**
 * The names of the fields that are secret because of other fields: `{ name: 'password', value: '…' }`,
 * `{ grant_type: '…', code: '…' }`, and JSON Web Keys (RFC 7517).
 */
function hiddenNamesOf (all: ReadonlyArray<[string, unknown]>, hides: (name: string) => boolean): RegExp | null {
  const named = all.some(([name, item]) => {
    const last: unknown = Array.isArray(item) ? item.at(-1) : item
    return typeof last === 'string' && last.length <= 128 && NAME_FIELD.test(name) && hides(last)
  })
  if (named) return VALUE_FIELD
  if (all.some(([name]) => name === 'kty')) return PRIVATE_MEMBER
  return all.some(([name]) => /^(?:grant_type|redirect_uri|code_verifier)$/.test(name)) ? /^code$/ : null
}
