import { sharedText } from '../profile.js'
import { ARRAY, END, LEAF, OBJECT, PART, type Shape } from './chunk-format.js'

/** How deep into the exceptions shared parts are looked for: a frame is the deepest. Of collectors it is what they are made of. */
const MAX_DEPTH = 4
const MAX_COLLECTED = 2
/** In a longer list it is not worth looking. */
const MAX_ITEMS = 100

type Branch = Record<string, unknown>

/** What profiles of one chunk have in common: their names, and the parts that are shared, each written once. */
export class ChunkParts {
  readonly texts: string[] = []
  readonly shapes: Shape[] = []
  readonly #numbers = new Map<object, number>()
  // Of the profile that is looked at.
  readonly #tokens: Shape = []
  #leaves: unknown[] = []
  /** Characters of all parts and shapes. */
  length = 0

  /** What a profile is without what it has in common: the number of its shape, and what stands in the places of that; `events` are told otherwise. */
  extract (profile: object, events: unknown): { shape: number, leaves: readonly unknown[] } {
    this.#tokens.length = 0
    this.#leaves = []
    this.#walk(profile, 0, MAX_DEPTH, events)
    return { shape: this.#shape(), leaves: this.#leaves }
  }

  #walk (branch: object, depth: number, maxDepth: number, events?: unknown): void {
    if (Array.isArray(branch)) {
      // As JSON has them: what is no value is null, and names beside the places do not count.
      for (let i = 0; i < branch.length; i++) this.#take(String(i), asJson(branch[i]) ?? null, depth, maxDepth)
      return
    }
    for (const name in branch) {
      const value = asJson(depth === 0 && name === 'events' ? events : (branch as Branch)[name])
      if (value !== undefined) this.#take(name, value, depth, maxDepth)
    }
  }

  #take (name: string, value: unknown, depth: number, maxDepth: number): void {
    const part = typeof value === 'object' && value !== null ? this.numberOf(value) : undefined
    if (part !== undefined) {
      this.#tokens.push(PART, name)
      this.#leaves.push(part)
    } else if (typeof value === 'object' && value !== null && depth < maxDepth && mayHoldParts(value, depth, name)) {
      this.#tokens.push(Array.isArray(value) ? ARRAY : OBJECT, name)
      this.#walk(value, depth + 1, depth === 0 && name === 'collectors' ? MAX_COLLECTED : maxDepth)
      this.#tokens.push(END)
    } else {
      this.#tokens.push(LEAF, name)
      this.#leaves.push(value)
    }
  }

  // Most profiles of a chunk have the shape of the one before.
  #shape (): number {
    const tokens = this.#tokens
    for (let i = this.shapes.length - 1; i >= 0; i--) if (isSame(this.shapes[i] as Shape, tokens)) return i
    for (const token of tokens) this.length += typeof token === 'string' ? token.length + 5 : 2
    return this.shapes.push([...tokens]) - 1
  }

  /** The number of a part; undefined where it is not shared. */
  numberOf (part: object): number | undefined {
    const known = this.#numbers.get(part)
    if (known !== undefined) return known
    const text = sharedText(part)
    if (text === undefined) return undefined
    const number = this.texts.push(text) - 1
    this.#numbers.set(part, number)
    this.length += text.length
    return number
  }
}

// What JSON leaves out.
function asJson (value: unknown): unknown {
  return typeof value === 'function' || typeof value === 'symbol' ? undefined : value
}

// Events are no list of parts, and what has a form of its own as JSON is taken as it is.
function mayHoldParts (value: object, depth: number, name: string): boolean {
  if (Array.isArray(value)) return value.length <= MAX_ITEMS && (depth > 0 || name !== 'events')
  return !('toJSON' in value)
}

function isSame (one: Shape, other: Shape): boolean {
  if (one.length !== other.length) return false
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false
  return true
}

/** Puts a profile together again. */
export function restore (shape: Shape, leaves: readonly unknown[], part: (number: number) => unknown): Branch {
  let at = 0
  let leaf = 0
  const fill = (branch: Branch): Branch => {
    while (at < shape.length) {
      const kind = shape[at++]
      if (kind === END) return branch
      const name = String(shape[at++])
      if (kind === LEAF) set(branch, name, leaves[leaf++])
      else if (kind === PART) set(branch, name, part(leaves[leaf++] as number))
      else if (kind === OBJECT) set(branch, name, fill({}))
      else if (kind === ARRAY) set(branch, name, fill([] as unknown as Branch))
      else throw new RangeError('A shape has no such place')
    }
    return branch
  }
  return fill({})
}

// A name of the application may be `__proto__`.
function set (branch: Branch, name: string, value: unknown): void {
  if (name === '__proto__') Object.defineProperty(branch, name, { value, enumerable: true, configurable: true, writable: true })
  else branch[name] = value
}
