import type { EventSignature, Profile } from '../profile.js'

/** What one listener did. */
export type Event = Profile['events'][number]
/** What does not go into numbers, in the order of the events: what one changed, as it is or by the number of a part, or, where `RAW` stands for it, the whole event. */
export type Extras = Array<Event['changes'] | number | Event>

// An event is a signature, of which the highest bit says that there are changes, a start of four bytes and a duration of three, in µs.
export const EVENT_BYTES = 8
export const CHANGED = 128
export const RAW = 127
// Ahead of the events of a profile: how many there are, and the layout of its parts.
export const HEAD_BYTES = 8

/** What stands behind the profiles of a chunk. */
export interface Common {
  signatures: Array<Omit<EventSignature, 'index'>>
  layouts: string[]
  /** Where each part ends, from the end of the last profile on. */
  parts: number[]
}
