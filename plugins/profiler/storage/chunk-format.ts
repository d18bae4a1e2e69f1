import type { EventSignature, Profile } from '../profile.js'

/** What one listener did. */
export type Event = Profile['events'][number]

/** Ahead of each profile: the number of its shape, and of the way that its events went; behind them their times, then what the shape has places for, as JSON. */
export const HEAD_BYTES = 8
/** In place of the number of a way: the events are with the rest. */
export const NO_WAY = 0xFFFFFFFF
/** Microseconds; where an event begins later, or takes longer, all events of the profile stand with the rest. */
export const MAX_TIME = 2 ** 32 - 1
/** A time is a number of seven bits a byte, the lowest first; the highest bit says that there are more. */
export const MAX_TIME_BYTES = 5

/** The events of profiles that walked the same way: for each of those that were recorded its start and its duration are told. */
export interface Way {
  /** The numbers of their signatures, those that were filled in among them. */
  signatures: number[]
  /** As in `EventLayout`. */
  sources: number[]
  /** How many were recorded. */
  recorded: number
}

/** What stands in a profile ahead of a name. */
export const LEAF = 0
export const PART = 1
export const OBJECT = 2
export const ARRAY = 3
/** Behind the last name of an object or an array. */
export const END = 4

/** The names of a profile in their order, each behind what stands there. */
export type Shape = Array<number | string>

/** What a way has no numbers for: which of the recorded events has changed something, and what: as it is, or by the number of a part. */
export type Changed = Array<number | Event['changes']>

/** What stands behind the profiles of a chunk. */
export interface Common {
  signatures: Array<Omit<EventSignature, 'index'>>
  ways: Way[]
  shapes: Shape[]
  /** Where each part ends, from the end of the last profile on. */
  parts: number[]
}
