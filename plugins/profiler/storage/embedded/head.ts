import { seqOfKey, type Lane, type Slots } from './layout.js'

/** The chunk that is evicted from, and how far. */
export class Head {
  readonly lane: Lane
  readonly key: number
  readonly slots: Slots
  slot = 0

  constructor (lane: Lane, key: number, slots: Slots) {
    this.lane = lane
    this.key = key
    this.slots = slots
    this.#skip()
  }

  get seq (): number {
    return seqOfKey(this.key) + this.slots.delta(this.slot)
  }

  advance (): void {
    this.slot++
    this.#skip()
  }

  #skip (): void {
    while (this.slot < this.slots.length && this.slots.size(this.slot) === 0) this.slot++
  }
}
