/** A piece of two texts, and which of them have it. */
export interface Change {
  text: string
  in: 'both' | 'a' | 'b'
}

/** One thing that is not the same in both profiles. */
export interface Difference {
  /** What it is, within its section: the name of a header, a field, a listener. */
  what: string
  kind: 'changed' | 'only-a' | 'only-b'
  /** The value in each profile; null where there is none. */
  a: unknown
  b: unknown
  /** The pieces of two texts that have words in common. */
  parts?: Change[]
}

/** One part of two profiles. */
export interface Section {
  name: string
  label: string
  differences: Difference[]
  /** How many things are the same in both. */
  equal: number
  /** Differences of values that are different for each request: ids, times, nonces. */
  always: Difference[]
}

/** One of two profiles that are compared. */
export interface Compared {
  token: string
  time: string
  method: string
  url: string
  status: number
  /** Milliseconds. */
  duration: number
  route: string | null
  /** Name and message of the last exception; null when there is none. */
  exception: string | null
}

/** Two profiles side by side, as plain data. */
export interface Comparison {
  a: Compared
  b: Compared
  /** How many things differ, volatile values not included. */
  differences: number
  /** How many things are the same. */
  equal: number
  /** Those with differences first. */
  sections: Section[]
}
