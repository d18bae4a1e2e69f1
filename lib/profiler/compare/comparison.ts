import type { Change } from './text-change.js'

export type { Change }

/** What both profiles have, or only one of them. */
export type Kind = 'changed' | 'only-a' | 'only-b'

/** One thing that is not the same in both profiles. */
export interface Difference {
  /** What it is, within its section: the name of a header, of a field, of a listener. */
  what: string
  kind: Kind
  /** As the first profile has it; null where it has none. */
  a: unknown
  /** As the second profile has it; null where it has none. */
  b: unknown
  /** Of two texts: what they share, and what only one of them says. */
  parts?: Change[]
}

/** What was compared of one part of two profiles. */
export interface Section {
  name: string
  label: string
  differences: Difference[]
  /** How many things are the same in both. */
  equal: number
  /** What is another one each time (ids, times, nonces) and says nothing. */
  always: Difference[]
}

/** What is told of a profile that was compared. */
export interface Compared {
  token: string
  time: string
  method: string
  url: string
  status: number
  duration: number
  route: string | null
  /** Name and message of the last exception; null where nothing failed. */
  exception: string | null
}

/** Two profiles side by side: plain data, for pages, programs and terminals. */
export interface Comparison {
  a: Compared
  b: Compared
  /** How many things differ, without what always does. */
  differences: number
  /** How many things are the same. */
  equal: number
  /** Those with differences first. */
  sections: Section[]
}
