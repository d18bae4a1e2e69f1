import type { Difference, Section } from './comparison.js'
import { steady } from './steady.js'
import { changesOf } from './text-change.js'

/** The tokens of the two profiles. */
export interface Tokens {
  a: string
  b: string
}

/** Collects what differs in one part of two profiles. */
export class Findings {
  readonly #section: Section
  readonly #tokens: Tokens

  constructor (name: string, label: string, tokens: Tokens) {
    this.#section = { name, label, differences: [], equal: 0, always: [] }
    this.#tokens = tokens
  }

  /** Two values of one thing; undefined: there is none. `passes`: it is another one each time. */
  values (what: string, a: unknown, b: unknown, passes = false): void {
    if (a === undefined && b === undefined) return
    const [textA, textB] = [textOf(a), textOf(b)]
    if (textA === textB && (a === undefined) === (b === undefined)) {
      this.#section.equal++
      return
    }
    const alike = passes || (a !== undefined && b !== undefined && steady(textA, this.#tokens.a) === steady(textB, this.#tokens.b))
    this.#section[alike ? 'always' : 'differences'].push(differenceOf(what, a, b))
  }

  /** Things that are the same as far as it matters. */
  alike (count = 1): void {
    this.#section.equal += count
  }

  /** What differs however alike it looks. */
  differ (what: string, a: unknown, b: unknown): void {
    this.#section.differences.push(differenceOf(what, a, b))
  }

  get section (): Section {
    return this.#section
  }
}

function differenceOf (what: string, a: unknown, b: unknown): Difference {
  const parts = typeof a === 'string' && typeof b === 'string' ? changesOf(a, b) : undefined
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
