import { performance, roundTime } from '../clock.js'
import { blocksIn, collectionsIn, idleTime, watchLoop, type Interval } from './event-loop.js'

/** A kind of work that a request waits for. */
export interface WorkKind {
  one: string
  many: string
}

/** Work that has begun, on the clock of `performance.now()`. */
export interface Work {
  startedAt: number
  endedAt?: number | undefined
  /** Milliseconds before `startedAt` for which it waited for a connection. */
  wait?: number | undefined
  /** Whether it ran in the thread of the event loop. */
  isSync?: boolean | undefined
}

/** Where the time of a request went, in milliseconds. The sum of the times is its duration. */
export interface TimeBudget {
  /** The time in which the event loop was idle, or the work itself ran in its thread; overlaps are counted once. */
  work: Array<{ one: string, many: string, count: number, duration: number }>
  /** The event loop was busy: for other requests, too, if `isShared`. */
  javascript: number
  /** The part of `javascript` in which memory was reclaimed. */
  collection: number
  /** Idle, after the response was ready. */
  sending: number
  /** Idle, and nothing was recorded that the request waited for. */
  waiting: number
  isShared: boolean
  /** Milliseconds since the request arrived, and milliseconds; of blocks those that are not work of Hindsight. */
  blocks: Array<{ start: number, duration: number }>
  collections: Array<{ start: number, duration: number }>
}

/** The idle time of the event loop at a time. */
export interface Sample { at: number, idle: number }

const MAX_WORKS = 2_000

/** Records what a request waits for, and for how long the event loop was busy meanwhile. */
export class WorkLog {
  readonly #samples: Sample[] = []
  readonly #works: Array<{ kind: WorkKind, work: Work }> = []
  readonly #endLoop = watchLoop()
  #isShared: boolean | null = null

  constructor (startedAt: number) {
    this.#samples.push({ at: startedAt, idle: idleTime() })
  }

  /** To be called when work has begun; then `sample` when it has ended. Nothing waits for work after the response. */
  begin (kind: WorkKind, work: Work): void {
    if (this.#isShared !== null || this.#works.length >= MAX_WORKS) return
    this.#works.push({ kind, work })
    this.sample()
  }

  sample (): void {
    if (this.#isShared === null && this.#samples.length <= MAX_WORKS * 2) {
      this.#samples.push({ at: performance.now(), idle: idleTime() })
    }
  }

  /** To be called when the response has ended. */
  end (): void {
    if (this.#isShared !== null) return
    this.#samples.push({ at: performance.now(), idle: idleTime() })
    this.#isShared = this.#endLoop()
  }

  /**
   * The budget, until now for a request that has not ended. `readyAt`: when the response was ready, or 0; `internal`:
   * milliseconds of Hindsight's page, which are not those of the request.
   */
  budget (readyAt: number, internal: number): TimeBudget {
    const last = { at: performance.now(), idle: idleTime() }
    const samples = this.#isShared === null ? [...this.#samples, last] : this.#samples
    const since = (samples[0] as Sample).at
    const time = { start: since, end: (samples.at(-1) as Sample).at }
    const relative = ({ start, end, internal = 0 }: Interval & { internal?: number }) =>
      ({ start: roundTime(start - since), duration: roundTime(end - start - internal) })
    const collections = collectionsIn(time)
    const { javascript, ...shares } = shareTime(samples, this.#works, readyAt)
    return {
      ...shares,
      javascript: roundTime(Math.max(0, javascript - internal)),
      collection: roundTime(collections.reduce((sum, { start, end }) => sum + end - start, 0)),
      isShared: this.#isShared ?? false,
      blocks: blocksIn(time).map(relative),
      collections: collections.map(relative)
    }
  }
}

/** Shares the time between samples among what the request waited for, and the code that ran. */
export function shareTime (
  samples: readonly Sample[], works: ReadonlyArray<{ kind: WorkKind, work: Work }>, readyAt: number
): Pick<TimeBudget, 'work' | 'javascript' | 'sending' | 'waiting'> {
  const durations = new Map<WorkKind, number>(works.map(({ kind }) => [kind, 0]))
  let [javascript, sending, waiting] = [0, 0, 0]
  const add = (kind: WorkKind, time: number): unknown => durations.set(kind, (durations.get(kind) ?? 0) + time)
  // What had not ended when the response was ready was not waited for.
  const end = readyAt === 0 ? Infinity : readyAt
  const inOrder = works.toSorted((a, b) => startOf(a.work) - startOf(b.work))
  const awaited = inOrder.filter(({ work }) =>
    work.isSync !== true && (readyAt === 0 || (work.endedAt ?? Infinity) <= end))
  let [pending, position]: [typeof awaited, number] = [[], 0]
  let before = samples[0]
  for (const sample of samples.slice(1)) {
    const { at, idle } = before as Sample
    before = sample
    const idleHere = Math.min(Math.max(0, sample.idle - idle), sample.at - at)
    const middle = (at + sample.at) / 2
    while (startOf(awaited[position]?.work) <= middle) pending.push(awaited[position++] as typeof awaited[number])
    pending = pending.filter(({ work: { endedAt = Infinity } }) => middle <= endedAt)
    const [first] = pending
    javascript += sample.at - at - idleHere
    if (first !== undefined) add(first.kind, idleHere)
    else if (readyAt !== 0 && middle > readyAt) sending += idleHere
    else waiting += idleHere
  }
  // Synchronous work by its own times: it blocks the event loop, and samples are too far apart for short work.
  let until = samples[0]?.at ?? 0
  const last = samples.at(-1)?.at ?? 0
  const sync = inOrder.filter(({ work }) => work.isSync === true && work.startedAt < last)
  for (const { kind, work: { startedAt, endedAt = startedAt } } of sync) {
    const time = Math.max(0, endedAt - Math.max(startedAt, until))
    until = Math.max(until, endedAt)
    javascript -= time
    add(kind, time)
  }
  return {
    work: [...durations].map(([kind, duration]) => {
      const ofKind = works.filter((one) => one.kind === kind).map(({ work }) => work)
      const { one, many } = kind
      return { one, many, count: ofKind.length, duration: roundTime(duration) }
    }),
    javascript: roundTime(Math.max(0, javascript)),
    sending: roundTime(sending),
    waiting: roundTime(waiting)
  }
}

function startOf ({ startedAt, wait = 0 }: Work = { startedAt: Infinity }): number {
  return startedAt - wait
}
