import { performance, roundTime } from '../clock.js'
import type { Mask } from '../mask/mask.js'
import {
  blocksIn, checkLoop, collectionsIn, internalWorkIn, takeSample, watchLoop, type BlockedCall,
  type InternalWork, type Interval, type Sample
} from './event-loop.js'

/** A kind of work that a request waits for. */
export interface WorkKind {
  one: string
  many: string
  /**
   * It is counted only where nothing of a lower rank was awaited: a timer of a client is a part of its call.
   * 1: a resource of Node.js. 2: a line of code, which has idle time of the event loop, the innermost line first.
   */
  rank?: 1 | 2
}

/** Work that has begun, on the clock of `performance.now()`. */
export interface Work {
  startedAt: number
  endedAt?: number | undefined
  /** When its result began: a response may pass on the rest of it, and has not waited for that. */
  answeredAt?: number | undefined
  /** Milliseconds before `startedAt` for which it waited for a connection. */
  wait?: number | undefined
  /** Whether it ran in the thread of the event loop. */
  isSync?: boolean | undefined
  /** Milliseconds before `startedAt` in which Hindsight recorded it. */
  internal?: number
  /** Finds the line that began it, `file:line:column`; null: unknown. */
  source?: () => string | null
  /** What it is, masked. */
  name?: (mask: Mask) => string
}

/** Where the time of a request went, in milliseconds. The sum of the times is its duration. */
export interface TimeBudget {
  /** The time between the beginning and the end of work; overlaps are counted once, for what began first. */
  work: Array<{ one: string, many: string, count: number, duration: number, source?: string | undefined }>
  /** The names of what had begun, and had not ended when the response was ready, while something else was awaited. */
  open: string[]
  /** The thread had the CPU outside of the work: for other work, too, if `isShared`. */
  javascript: number
  /** The part of `javascript` in which memory was reclaimed. */
  collection: number
  /** The thread had the CPU while work was awaited. It is a part of the time of the work. */
  meanwhile: number
  /** The event loop was neither idle, nor had its thread the CPU. */
  starved: number
  /** Hindsight worked: it loaded modules, or made profiles and pages. */
  hindsight: number
  /** Idle, after the response was ready. */
  sending: number
  /** Idle, and nothing was recorded that the request waited for. */
  waiting: number
  isShared: boolean
  /**
   * Milliseconds since the request arrived, and `duration`, milliseconds of CPU time that are not work of Hindsight. A
   * profile of an earlier release has no `end`.
   */
  blocks: Array<{ start: number, end?: number, duration: number, calls?: BlockedCall[] }>
  collections: Array<{ start: number, duration: number }>
}

const CONNECTIONS: WorkKind = { one: 'wait for a connection', many: 'waits for a connection' }
const MAX_WORKS = 4_000
const MAX_OPEN = 3
/** Milliseconds between two samples: what happens between them is separated by the times of the work alone. */
const MIN_SAMPLE = 1

/** Records what a request waits for, and for how long the event loop was busy meanwhile. */
export class WorkLog {
  #samples: Sample[] = []
  readonly #works: Array<{ kind: WorkKind, work: Work }> = []
  readonly #loop = watchLoop()
  #isShared: boolean | null = null

  constructor (startedAt: number) {
    this.restart(startedAt)
  }

  restart (startedAt: number): void {
    checkLoop()
    this.#samples = [takeSample(startedAt)]
  }

  /** To be called when work has begun; then `sample` when it has ended. Nothing waits for work after the response. */
  begin (kind: WorkKind, work: Work): void {
    if (this.#isShared !== null || this.#works.length >= MAX_WORKS) return
    this.#works.push({ kind, work })
    this.sample()
  }

  sample (): void {
    if (this.#isShared !== null || this.#samples.length > MAX_WORKS * 2) return
    // Read twice a query, the CPU time of the process took 4 % of a request with 50 queries.
    const at = performance.now()
    if (at - (this.#samples.at(-1) as Sample).at >= MIN_SAMPLE) this.#samples.push(takeSample(at))
  }

  /** To be called when the request or job has ended; `at`: the end of its duration, to which the times add up. */
  end (at: number): void {
    if (this.#isShared !== null) return
    this.#samples.push(takeSample(at))
    this.#loop.end()
    this.#isShared = this.#loop.isShared()
  }

  /**
   * The budget, until now for what has not ended. `readyAt`: when the response was ready or the job had ended, or 0: it
   * has waited only for what had ended then. `internal`: milliseconds of Hindsight's page, which are not those of the
   * request; `until`: when it began to make one.
   */
  budget (readyAt: number, internal: number, mask: Mask, until = Infinity): TimeBudget {
    const last = takeSample()
    const taken = this.#isShared === null ? [...this.#samples, last] : this.#samples
    const samples = taken.filter(({ at }) => at <= until)
    const since = (samples[0] as Sample).at
    const time = { start: since, end: (samples.at(-1) as Sample).at }
    const collections = collectionsIn(time)
    const { hindsight, ...shares } = shareTime(samples, this.#works, readyAt, internalWorkIn(time))
    // The page is in no share, nor in the duration. What it has waited for the CPU is in another one.
    const page = Math.max(0, internal - hindsight)
    const javascript = Math.max(0, shares.javascript - page)
    const starved = Math.max(0, shares.starved - Math.max(0, page - shares.javascript))
    const captured = Math.min(javascript, this.#works.reduce((sum, { work }) => sum + (work.internal ?? 0), 0))
    return {
      ...shares,
      open: this.#works.filter(({ work, kind }) => kind.rank === undefined && isOpen(work, readyAt, shares.waiting))
        .map(({ work, kind }) => work.name?.(mask) ?? `a ${kind.one}`).slice(0, MAX_OPEN),
      javascript: roundTime(javascript - captured),
      starved: roundTime(starved),
      hindsight: roundTime(Math.max(0, hindsight - internal) + captured),
      collection: roundTime(collections.reduce((sum, { start, end }) => sum + end - start, 0)),
      isShared: this.#isShared ?? this.#loop.isShared(),
      blocks: blocksIn(time).map(({ start, end, cpu, calls = [] }) => ({
        start: roundTime(start - since),
        end: roundTime(end - since),
        duration: roundTime(cpu),
        ...calls.length > 0 && { calls: calls.map((call) => ({ ...call, function: mask.text(call.function) })) }
      })),
      collections: collections.map(({ start, end }) =>
        ({ start: roundTime(start - since), duration: roundTime(end - start) }))
    }
  }
}

type Shares = Pick<TimeBudget,
  'work' | 'javascript' | 'meanwhile' | 'starved' | 'hindsight' | 'sending' | 'waiting'>

/** A part of the time that is known to be work, or Hindsight's. */
interface Claim extends InternalWork { isSync: boolean, group?: TimeBudget['work'][number] }

/** Shares the time between samples: what was awaited has its time first, the code that ran at most its CPU time. */
export function shareTime (
  samples: readonly Sample[], works: ReadonlyArray<{ kind: WorkKind, work: Work }>, readyAt: number,
  internal: readonly InternalWork[] = []
): Shares {
  const [since, until] = [samples[0]?.at ?? 0, samples.at(-1)?.at ?? 0]
  const claims: Claim[] = []
  const lines: Claim[] = []
  const claim = (start: number, end: number, isSync: boolean, rate = 0): number =>
    addClaim(claims, { start: Math.max(start, since), end: Math.min(end, until), isSync, rate })
  const groups = new Map<string, TimeBudget['work'][number]>()
  const awaitedTo = (work: Work): number | undefined =>
    work.isSync === true || readyAt === 0 ? work.endedAt ?? until : awaitedEnd(work, readyAt)
  const addWork = (kind: WorkKind, work: Work): void => {
    const { isSync = false } = work
    const awaitedUntil = awaitedTo(work)
    const source = work.source?.() ?? undefined
    if (kind.rank === 2 && source === undefined) return
    const key = `${kind.one} ${source}`
    const group = groups.get(key) ?? { one: kind.one, many: kind.many, count: 0, duration: 0, source }
    group.count++
    groups.set(key, group)
    // What had not ended when the response was ready was not waited for.
    if (awaitedUntil === undefined) return
    if (kind.rank === 2) addClaim(lines, { start: work.startedAt, end: awaitedUntil, isSync, group })
    else group.duration += claim(work.startedAt, awaitedUntil, isSync)
  }
  const awaited = works.filter(({ work }) => awaitedTo(work) !== undefined)
  const waits = awaited.flatMap(({ work }) => waitOf(work) ?? []).map((work) => ({ kind: CONNECTIONS, work }))
  const inOrder = [...works, ...waits].toSorted((a, b) => a.work.startedAt - b.work.startedAt)
  for (const { kind, work } of inOrder) if (kind.rank === undefined) addWork(kind, work)
  const recorded = new Set(groups.values())
  for (const { kind, work } of inOrder) if (kind.rank === 1) addWork(kind, work)
  const lengthOf = ({ startedAt, endedAt = until }: Work): number => endedAt - startedAt
  inOrder.sort((a, b) => lengthOf(a.work) - lengthOf(b.work))
  for (const { kind, work } of inOrder) if (kind.rank === 2) addWork(kind, work)
  const hindsight = internal.reduce((sum, { start, end, rate }) => sum + claim(start, end, true, rate), 0)
  const within = internal.reduce((sum, { start, end }) => sum + end - start, -hindsight)
  const { javascript, meanwhile, starved, sending, waiting } = restOf(samples, claims, lines, readyAt)
  return {
    work: [...groups.values()].filter((group) => group.duration > 0 || recorded.has(group)).map((group) =>
      ({ ...group, duration: roundTime(group.duration) })),
    javascript,
    meanwhile: roundTime(Math.max(0, meanwhile - within)),
    starved: roundTime(starved),
    hindsight,
    sending: roundTime(sending),
    waiting: roundTime(waiting)
  }
}

/** Adds what is not claimed yet; returns how long that is. The claims are in their order, without overlap. */
function addClaim (claims: Claim[], claim: Claim): number {
  const { start, end } = claim
  let [time, position, to] = [0, claims.length, end]
  const add = (from: number, end: number): void => {
    if (from >= end) return
    claims.splice(position, 0, { ...claim, start: from, end })
    time += end - from
  }
  for (let other = claims[position - 1]; other !== undefined && other.end > start; other = claims[position - 1]) {
    add(Math.max(start, other.end), to)
    to = Math.min(to, other.start)
    position--
  }
  add(start, to)
  return time
}

/**
 * Shares the time without claims, and finds the CPU time within those that are not synchronous. Adds idle time to the
 * groups of `lines`.
 */
function restOf (
  samples: readonly Sample[], claims: readonly Claim[], lines: readonly Claim[], readyAt: number
): Pick<TimeBudget, 'javascript' | 'meanwhile' | 'starved' | 'sending' | 'waiting'> {
  let [javascript, meanwhile, starved, sending, waiting] = [0, 0, 0, 0, 0]
  let [before] = samples
  const [nextClaims, nextLines] = [claimFinder(claims), claimFinder(lines)]
  for (const sample of samples.slice(1)) {
    const { at, idle, cpu } = before as Sample
    before = sample
    const claimed = { sync: 0, async: 0 }
    const time = { start: at, end: sample.at }
    let used = sample.cpu - cpu
    for (const { isSync, length, rate = 0 } of nextClaims(time)) {
      claimed[isSync ? 'sync' : 'async'] += length
      // Hindsight had the CPU.
      used = Math.max(0, used - length * rate)
    }
    // Work was awaited while the event loop was idle.
    const idleHere = Math.min(Math.max(0, sample.idle - idle), sample.at - at)
    const idleRest = Math.max(0, idleHere - claimed.async)
    const rest = Math.max(0, sample.at - at - claimed.sync - claimed.async)
    const busy = Math.max(0, rest - idleRest)
    const run = Math.min(busy, used)
    javascript += run
    starved += busy - run
    meanwhile += Math.max(0, Math.min(sample.cpu - cpu - run - claimed.sync, claimed.async - idleHere))
    let unknown = rest - busy
    for (const { group, length } of nextLines(time)) {
      const known = Math.min(length, unknown)
      if (group !== undefined) group.duration += known
      unknown -= known
    }
    if (readyAt !== 0 && (at + sample.at) / 2 > readyAt) sending += unknown
    else waiting += unknown
  }
  return { javascript, meanwhile, starved, sending, waiting }
}

/** Makes the function that finds the claims in a time, and how long they are in it: the times are in their order. */
function claimFinder (claims: readonly Claim[]): (time: Interval) => Array<Claim & { length: number }> {
  let position = 0
  return ({ start, end }) => {
    while ((claims[position]?.end ?? Infinity) <= start) position++
    const found: Array<Claim & { length: number }> = []
    for (let next = position; (claims[next]?.start ?? Infinity) < end; next++) {
      const claim = claims[next] as Claim
      found.push({ ...claim, length: Math.min(claim.end, end) - Math.max(claim.start, start) })
    }
    return found
  }
}

/** When work had ended, or else its result began, before a response was ready. */
function awaitedEnd ({ endedAt, answeredAt }: Work, readyAt: number): number | undefined {
  return [endedAt, answeredAt].find((time) => time !== undefined && time <= readyAt)
}

/** Whether work, or the rest of its result, was open in most of a wait, and when the response was ready. */
function isOpen (work: Work, readyAt: number, waiting: number): boolean {
  const { startedAt, answeredAt = Infinity, endedAt = Infinity } = work
  const since = answeredAt <= readyAt ? answeredAt : startedAt
  // The rest of a result that is passed on is not waited for.
  return readyAt !== 0 && endedAt > readyAt && readyAt - since > Math.max(waiting, readyAt - startedAt) / 2
}

/** The time for which work waited for a connection. */
function waitOf ({ startedAt, wait = 0 }: Work): Work | undefined {
  return wait === 0 ? undefined : { startedAt: startedAt - wait, endedAt: startedAt }
}
