import { isObject, type Data } from '../panels/panel.js'
import type { Difference, Section } from './comparison.js'
import { textChanges } from './diff.js'
import { isVolatileField, isVolatileHeader, normalizeVolatile } from './volatile.js'

const MAX_LEAVES = 2_000
const MAX_DEPTH = 16

/** Collects the differences of one section. A value is undefined when a profile does not have it. */
export class SectionBuilder {
  readonly section: Section
  readonly #tokens: readonly [a: string, b: string]

  constructor (name: string, label: string, tokens: readonly [a: string, b: string]) {
    this.section = { name, label, differences: [], equal: 0, always: [] }
    this.#tokens = tokens
  }

  /** A text of profile `a` or `b` without its volatile parts. */
  normalized (text: string, side: 'a' | 'b'): string {
    return normalizeVolatile(text, this.#tokens[side === 'a' ? 0 : 1])
  }

  values (what: string, a: unknown, b: unknown, isVolatile = false): void {
    if (a === undefined && b === undefined) return
    const [textA, textB] = [textOf(a), textOf(b)]
    // The number 2 and the text "2" are two values.
    const inBoth = typeof a === typeof b
    if (inBoth && textA === textB) this.section.equal++
    else if (isVolatile || (inBoth && this.normalized(textA, 'a') === this.normalized(textB, 'b'))) {
      this.section.always.push(difference(what, a, b))
    } else this.different(what, a, b)
  }

  /** A difference between values that are compared in another way. */
  different (what: string, a: unknown, b: unknown): void {
    this.section.differences.push(difference(what, a, b))
  }

  headers (a: unknown, b: unknown): void {
    const [one, other] = [a, b].map((headers) => new Map(Object.entries(isObject(headers) ? headers : {})))
    for (const name of new Set([...one?.keys() ?? [], ...other?.keys() ?? []])) {
      this.values(`header ${name}`, one?.get(name), other?.get(name), isVolatileHeader(name))
    }
  }

  /** Compares nested data, leaf by leaf. */
  fields (prefix: string, a: unknown, b: unknown): void {
    const [one, other] = [leavesOf(a), leavesOf(b)]
    for (const path of new Set([...one.keys(), ...other.keys()])) {
      this.values(prefix === '' ? path : `${prefix} ${path}`, one.get(path), other.get(path), isVolatileField(path))
    }
  }
}

function difference (what: string, a: unknown, b: unknown): Difference {
  const parts = typeof a === 'string' && typeof b === 'string' ? textChanges(a, b) : undefined
  return {
    what,
    kind: a === undefined ? 'only-b' : b === undefined ? 'only-a' : 'changed',
    a: a ?? null,
    b: b ?? null,
    ...(parts !== undefined && { parts })
  }
}

function textOf (value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value) ?? ''
}

/** The leaves of nested data by their paths, such as `user.roles[0].name`. A list of plain values is one leaf. */
function leavesOf (data: unknown): Map<string, unknown> {
  const leaves = new Map<string, unknown>()
  const walk = (value: unknown, path: string, depth: number): void => {
    if (leaves.size >= MAX_LEAVES) return
    if (depth >= MAX_DEPTH || isLeaf(value)) leaves.set(path === '' ? 'value' : path, value)
    else if (Array.isArray(value)) value.forEach((item, i) => walk(item, `${path}[${i}]`, depth + 1))
    else for (const [name, item] of Object.entries(value as Data)) walk(item, nested(path, name), depth + 1)
  }
  if (data !== undefined) walk(data, '', 0)
  return leaves
}

function nested (path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

function isLeaf (value: unknown): boolean {
  if (Array.isArray(value)) return value.every((item) => typeof item !== 'object' || item === null)
  return !isObject(value) || Object.keys(value).length === 0
}
