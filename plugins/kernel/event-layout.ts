import type { EventLayout, EventSignature } from './event-columns.js'
import type { PassName } from './events.js'
import type { Slot } from './lifecycle.js'

const known = new WeakMap<readonly Slot[], EventLayout[]>()
const MAX_KNOWN = 20

/** Lays out what was recorded, in the order in which it happened. */
export function layoutOf (slots: readonly Slot[], recorded: readonly EventSignature[]): EventLayout {
  let layouts = known.get(slots)
  if (layouts === undefined) known.set(slots, layouts = [])
  for (const layout of layouts) if (isSame(layout.recorded, recorded)) return layout
  const layout = new Layouter(slots, recorded).laidOut()
  layouts.unshift(layout)
  if (layouts.length > MAX_KNOWN) layouts.pop()
  return layout
}

function isSame (one: readonly EventSignature[], other: readonly EventSignature[]): boolean {
  if (one.length !== other.length) return false
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false
  return true
}

class Layouter {
  readonly #slots: readonly Slot[]
  readonly #recorded: readonly EventSignature[]
  readonly #signatures: EventSignature[] = []
  readonly #sources: number[] = []
  readonly #places: number[] = []
  // Whose end what is filled in stands at.
  #behind = -1

  constructor (slots: readonly Slot[], recorded: readonly EventSignature[]) {
    this.#slots = slots
    this.#recorded = [...recorded]
  }

  laidOut (): EventLayout {
    let previous: EventSignature | null = null
    for (const [i, signature] of this.#recorded.entries()) {
      if (signature.index === -1) {
        // What was skipped behind the listeners so far comes ahead of the hook, unless more of them follow.
        if (previous !== null && !this.#goesOn(previous, i)) {
          this.#fillBehind(previous)
          previous = null
        }
        this.#add(signature, i)
        continue
      }
      const sameRun: boolean = previous !== null && previous.pass === signature.pass && previous.stage === signature.stage && previous.index < signature.index
      if (previous !== null && !sameRun) this.#fillBehind(previous)
      const from = sameRun && previous !== null ? previous.index + 1 : this.#slots.findIndex(({ stage }) => stage === signature.stage)
      this.#fill(from, signature.index, signature.pass)
      this.#add(signature, i)
      previous = signature
      this.#behind = -2 - i
    }
    if (previous !== null) this.#fillBehind(previous)
    return { recorded: this.#recorded, signatures: this.#signatures, sources: this.#sources, places: this.#places }
  }

  #add (signature: EventSignature, source: number): void {
    this.#signatures.push(signature)
    this.#sources.push(source)
    this.#places.push(this.#signatures.length)
  }

  // Whether the listeners of a stage go on behind the hooks that come next.
  #goesOn ({ pass, stage, index }: EventSignature, from: number): boolean {
    const next = this.#recorded.slice(from).find((signature) => signature.index !== -1)
    return next !== undefined && next.pass === pass && next.stage === stage && next.index > index
  }

  // Behind a listener that raised or answered in the main pass nothing else was reached.
  #fillBehind ({ index, stage, pass, outcome }: EventSignature): void {
    if (pass === 'main' && (outcome === 'raised' || outcome === 'answered')) return
    let end = index + 1
    while (this.#slots[end]?.stage === stage) end++
    this.#fill(index + 1, end, pass)
  }

  #fill (from: number, to: number, pass: PassName): void {
    for (let i = from; i < to; i++) {
      const { reason, memory } = this.#slots[i] as Slot
      if (reason === null) continue
      this.#signatures.push(memory.signature(pass, 'skipped', reason))
      this.#sources.push(this.#behind)
    }
  }
}
