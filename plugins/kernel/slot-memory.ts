import type { EventSignature } from './event-columns.js'
import type { HeaderChange, ListenerEvent, Outcome, PassName } from './events.js'

/** A header's value as Fastify keeps it; undefined where there is none. */
export type HeaderValue = string | number | string[] | undefined

export interface Change {
  name: string
  from: HeaderValue
  to: HeaderValue
}

/** What a listener changed. */
export interface Changes {
  headers: Change[] | null
  status: { from: number, to: number } | null
}

/** Says what may be shown of a header's value. */
export type HeaderMask = (name: string, value: string) => string

type Place = Omit<EventSignature, 'pass' | 'outcome' | 'reason'>
type Shown = NonNullable<ListenerEvent['changes']>

const MAX_SIGNATURES = 100
const MAX_CHANGES = 8

/** What a listener has done before, so that what it does again is not described again. */
export class SlotMemory {
  readonly #place: Place
  readonly #signatures: EventSignature[] = []
  readonly #known: Array<{ changes: Changes, mask: HeaderMask, shown: Shown }> = []
  #next = 0
  // Kept only when it comes a second time: a token is never the same again.
  #last: Changes | null = null

  constructor (place: Place) {
    this.#place = place
  }

  get stage (): EventSignature['stage'] {
    return this.#place.stage
  }

  /** The signature of an outcome. */
  signature (pass: PassName, outcome: Outcome, reason: string | null): EventSignature {
    for (const known of this.#signatures) if (known.outcome === outcome && known.pass === pass && known.reason === reason) return known
    const { index, stage, listener, plugin, source } = this.#place
    // All of one shape, also where there is no plugin: they are compared for each event of each request.
    const signature: EventSignature = { index, stage, listener, pass, outcome, reason, plugin, source }
    // A reason may be made of what was asked.
    if (this.#signatures.length < MAX_SIGNATURES) this.#signatures.push(signature)
    return signature
  }

  /** Changes as they are shown; the same object for the same ones, unless nobody is to remember them. */
  shown (changes: Changes, mask: HeaderMask, isRemembered: boolean): Shown {
    if (!isRemembered) return shownChanges(changes, mask)
    for (const known of this.#known) if (known.mask === mask && isSame(known.changes, changes)) return known.shown
    const shown = shownChanges(changes, mask)
    if (this.#last === null || !isSame(this.#last, changes)) {
      this.#last = changes
      return shown
    }
    this.#known[this.#next++ % MAX_CHANGES] = { changes, mask, shown }
    return shown
  }
}

/** Whether two values of a header are the same. */
export function isSameValue (one: HeaderValue, other: HeaderValue): boolean {
  return one === other || (Array.isArray(one) && Array.isArray(other) && one.length === other.length && one.every((value, i) => value === other[i]))
}

function isSame (one: Changes, other: Changes): boolean {
  const [a, b] = [one.headers, other.headers]
  if (one.status?.to !== other.status?.to || one.status?.from !== other.status?.from || a?.length !== b?.length) return false
  return a === null || b === null || a.every(({ name, from, to }, i) => {
    const change = b[i]
    return change !== undefined && change.name === name && isSameValue(change.to, to) && isSameValue(change.from, from)
  })
}

function shownChanges ({ headers, status }: Changes, mask: HeaderMask): Shown {
  return {
    ...(headers !== null && { headers: headers.map(({ name, from, to }): HeaderChange => ({ name, from: shownValue(name, from, mask), to: shownValue(name, to, mask) })) }),
    ...(status !== null && { status })
  }
}

/** A header's value as it may be shown; null where there is none. */
export function shownValue (name: string, value: HeaderValue, mask: HeaderMask): string | null {
  if (value === undefined) return null
  return Array.isArray(value) ? value.map((one) => mask(name, one)).join(', ') : mask(name, String(value))
}
