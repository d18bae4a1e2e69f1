import { attemptCall } from '../call.js'
import { performance } from '../clock.js'
import { isLoggedByFastify } from '../errors/declared-place.js'
import type { FlattenedException } from '../errors/exception.js'
import { flattenError, maskExceptions } from '../errors/masked-exceptions.js'
import { currentHook, type LateRecorder } from './trace.js'
import { appSource } from '../errors/stack-frame.js'
import { RequestLog } from '../logs/log-record.js'
import type { Mask } from '../mask/mask.js'
import { allCollected, plainCopy } from '../parts/collect.js'
import type { StoringServices } from '../parts/part.js'
import { dataFor, dataOf, isObject } from '../parts/read.js'
import type { Profile } from '../store/profile.js'
import type { Recording } from './recording.js'

/** Milliseconds after the response for which its profile is completed, and until what was recorded is released. */
const LIFETIME = 30_000
const RELEASE = 35_000
/** Milliseconds from the first change to its writing; it grows with each change, as a profile is written anew. */
const FIRST_DELAY = 200
const MIN_DELAY = 1_000
const MAX_DELAY = 4_000
/** What is recorded of one request: when one limit is reached, nothing more is. */
const MAX_ERRORS = 25
const MAX_EVENTS = 400
const MAX_LINES = 100
const MAX_BYTES = 64 * 1024
/** The requests that have something to be written at the same time. */
const MAX_WAITING = 100
/** The share of the time of this thread that all writes together may take, and the milliseconds that they may save. */
const MAX_SHARE = 0.02
const MAX_CREDIT = 200

/** That of this thread: tests of an application may replace the global one. */
const { setTimeout } = globalThis

/** Those with a batch that is not written yet. */
const waiting = new Set<LateRecording>()

/** Milliseconds that writes may take until they pause. */
let credit = MAX_CREDIT
let creditedAt = 0
let timer: NodeJS.Timeout | undefined

/** Writes the batches of an application, before its store is closed. */
export function flushLate (services: StoringServices): void {
  for (const late of waiting) if (late.services === services) late.write()
}

function addCredit (): void {
  const now = performance.now()
  credit = Math.min(MAX_CREDIT, credit + (now - creditedAt) * MAX_SHARE)
  creditedAt = now
}

/** Calls a function, whose time counts for the limit. */
function measured<T> (work: () => T): T {
  const start = performance.now()
  try {
    return work()
  } finally {
    credit -= performance.now() - start
  }
}

/** Writes the next batch when it is due, and when the writes before have not taken too long. */
function scheduleNext (): void {
  clearTimeout(timer)
  if (waiting.size === 0) return
  addCredit()
  const [next] = [...waiting].sort((a, b) => a.dueAt - b.dueAt) as [LateRecording]
  const delay = Math.max(next.dueAt - performance.now(), -credit / MAX_SHARE, 0)
  timer = setTimeout(() => {
    next.write()
    scheduleNext()
  }, delay).unref()
}

/**
 * Records what happens after the response, in the asynchronous context of its request: it is added to the stored
 * profile. It references neither the request nor what was recorded of it.
 */
export class LateRecording implements LateRecorder {
  readonly token: string
  readonly services: StoringServices
  /** When the batch is to be written, on the clock of `performance.now()`. */
  dueAt = 0
  /** What each batch begins with; null: nothing more is recorded. */
  #empty: Recording | null
  /** It hides the path parameters of the request, too; null until the profile is made. */
  #mask: Mask | null = null
  readonly #until = performance.now() + LIFETIME
  #batch: Recording | null = null
  #errors: FlattenedException[][] = []
  #delay = FIRST_DELAY
  /** The errors that the profile has. */
  #known: WeakSet<object>
  #errorsLeft = MAX_ERRORS
  #eventsLeft = MAX_EVENTS
  #linesLeft = MAX_LINES
  #bytesLeft = MAX_BYTES

  constructor (token: string, recording: Recording, services: StoringServices) {
    const { raised, otherErrors } = recording
    this.#known = new WeakSet([raised, ...otherErrors].filter(isObject))
    this.services = services
    this.token = token
    this.#empty = recording.afterResponse()
  }

  /** To be called when the profile was made, with the mask of its request; false: it was made before. */
  begin (mask: Mask): boolean {
    const isFirst = this.#mask === null
    this.#mask = mask
    return isFirst
  }

  /** To be called with each error that is raised. */
  addError (error: unknown): void {
    if ((isObject(error) && this.#known.has(error)) || this.openRecording() === undefined) return
    if (this.#errorsLeft-- < 1) return
    if (isObject(error)) this.#known.add(error)
    this.#errors.push(maskExceptions(flattenError(error), this.#maskOf(this.#batch)))
  }

  /** The recording that the next change of the profile is made of; begins one. Undefined: nothing more is recorded. */
  openRecording (): Recording | undefined {
    if (this.#empty === null || performance.now() > this.#until || this.#eventsLeft-- < 1) return undefined
    this.#batch ??= this.#openBatch(this.#empty)
    return this.#batch ?? undefined
  }

  #openBatch (empty: Recording): Recording | null {
    if (waiting.size >= MAX_WAITING) return null
    const batch = empty.afterResponse()
    const limits = { lines: this.#linesLeft, bytes: this.#bytesLeft }
    batch.log = new RequestLog(batch, {
      limits,
      onLateError: (error) => { if (isLoggedByFastify()) this.addError(error) },
      currentHook: () => currentHook(batch)
    })
    if (this.#delay === FIRST_DELAY) {
      setTimeout(() => this.#release(), this.#until + RELEASE - LIFETIME - performance.now()).unref()
    }
    this.dueAt = performance.now() + this.#delay
    this.#delay = Math.min(Math.max(this.#delay * 2, MIN_DELAY), MAX_DELAY)
    waiting.add(this)
    scheduleNext()
    return batch
  }

  /** Queries of the batch may have further secrets. */
  #maskOf (batch: Recording | null): Mask {
    return (this.#mask ?? this.services.mask).withTexts(batch?.secretTexts?.() ?? [])
  }

  /** Adds the batch to the profile: when it is due, or when the application is closed. */
  write (): void {
    waiting.delete(this)
    const change = measured(() => this.#takeBatch())
    if (change === null) return
    const { profiler, warn } = this.services
    const [token, keepsPlace] = [this.token, this.#errors.length === 0]
    // Otherwise each late line would list the request anew.
    profiler.amend(token, (profile) => measured(() => change(profile)), keepsPlace)
      .then(() => measured(() => profiler.queue.get(token)))
      .catch((reason: unknown) => warn('A profile was not completed', reason))
  }

  /** The change of the profile that the batch makes; null: none. */
  #takeBatch (): ((profile: Profile) => Profile) | null {
    const [batch, errors] = [this.#batch, this.#errors]
    this.#batch = null
    this.#errors = []
    if (batch === null) return null
    // Makes the profile.
    if (this.#mask === null) this.services.profiler.queue.get(this.token)
    const { log } = batch
    const records = log?.records(appSource) ?? []
    this.#linesLeft -= records.length
    this.#bytesLeft -= log?.bytes ?? 0
    const mask = this.#maskOf(batch)
    const logs = records.flatMap((line) => log?.masked(line, mask) ?? [])
    const data = plainCopy(allCollected(batch), mask.redact) as Record<string, unknown>
    if (this.#linesLeft < 1 || this.#bytesLeft < 1 || log?.isFull === true) this.#empty = null
    if (logs.length === 0 && Object.keys(data).length === 0 && errors.length === 0) return null
    const { parts } = this.services
    return (profile) => errors.reduce(withError, completed(profile, logs, data, parts))
  }

  #release (): void {
    waiting.delete(this)
    this.#empty = this.#batch = this.#mask = null
    this.#errors = []
    this.services.profiler.forgetChanges(this.token)
  }
}

/** Passes a new profile to the parts. */
export function notifyParts (profile: Profile, services: StoringServices): void {
  for (const part of services.parts) attemptCall(() => part.made?.(dataFor(part, profile), profile, services))
}

/** A profile with what came after the response. */
function completed (
  profile: Profile, logs: Profile['logs'], late: Readonly<Record<string, unknown>>, parts: StoringServices['parts']
): Profile {
  const collectors = { ...profile.collectors }
  for (const [name, data] of Object.entries(late)) {
    const part = parts.find((one) => one.name === name)
    if (!isObject(data)) continue
    collectors[name] = attemptCall(() => part?.complete?.(dataOf(profile, name), data) ?? data, () => collectors[name])
  }
  return { ...profile, logs: [...profile.logs, ...logs], collectors }
}

/** A profile with one more error. */
function withError (profile: Profile, chain: FlattenedException[]): Profile {
  const { exceptions } = profile
  const known = dataOf(profile, 'exceptions')
  const collectors = { ...profile.collectors, exceptions: { ...known, late: Number(known.late ?? 0) + 1 } }
  if (exceptions.length === 0) return { ...profile, exceptions: chain, collectors }
  const { otherErrors = [] } = profile.collectors as { otherErrors?: unknown[] }
  return { ...profile, collectors: { ...collectors, otherErrors: [...otherErrors, chain] } }
}
