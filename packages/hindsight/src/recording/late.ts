import { attempt } from '../call.js'
import { performance } from '../clock.js'
import { isLoggedByFastify } from '../errors/declared-place.js'
import type { FlattenedException } from '../errors/exception.js'
import { flattenError, maskExceptions } from '../errors/masked-exceptions.js'
import type { Services } from '../lifecycle/state.js'
import { ownSource } from '../errors/stack-frame.js'
import { RequestLog } from '../logs/log-record.js'
import type { Mask } from '../mask/mask.js'
import { collectedBy, plainCopy } from '../parts/collect.js'
import { dataOf, isObject, listOf } from '../parts/read.js'
import type { Profile } from '../store/profile.js'
import type { Recording } from './recording.js'

declare module './recording.js' {
  interface Recording {
    /** Records what happens after the response. */
    late?: LateRecording
  }
}

/** Milliseconds after the response for which its profile is completed. */
const LIFETIME = 30_000
/** Milliseconds from the first change to its writing; it doubles with each change, as a profile is written anew. */
const FIRST_DELAY = 200
const MAX_DELAY = 4_000
const MAX_ERRORS = 25
const MAX_LINES = 500

/** That of this thread: tests of an application may replace the global one. */
const { setTimeout } = globalThis

/** Those with a batch that is not written yet. */
const waiting = new Set<LateRecording>()

/** Writes the batches of an application, before its store is closed. */
export function flushLate (services: Services): void {
  for (const late of waiting) if (late.services === services) late.write()
}

/**
 * Records what happens after the response, in the asynchronous context of its request: it is added to the stored
 * profile. It references neither the request nor what was recorded of it.
 */
export class LateRecording {
  readonly services: Services
  readonly #token: string
  /** What each batch begins with. */
  readonly #empty: Recording
  /** It hides the path parameters of the request, too; null until the profile is made. */
  #mask: Mask | null = null
  readonly #until = performance.now() + LIFETIME
  #batch: Recording | null = null
  #delay = FIRST_DELAY
  /** The errors that the profile has. */
  readonly #errors: WeakSet<object>
  #errorsLeft = MAX_ERRORS
  #linesLeft = MAX_LINES

  constructor (token: string, recording: Recording, services: Services) {
    const { raised, otherErrors } = recording
    this.#errors = new WeakSet([raised, ...otherErrors].filter(isObject))
    this.services = services
    this.#token = token
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
    if (this.#isOver() || (isObject(error) && this.#errors.has(error)) || this.#errorsLeft-- < 1) return
    if (isObject(error)) this.#errors.add(error)
    const chain = maskExceptions(flattenError(error), this.#maskOf(this.#batch))
    this.#amend((profile) => withError(profile, chain))
  }

  /** The recording that the next change of the profile is made of; begins one. Undefined when that is too late. */
  openRecording (): Recording | undefined {
    if (this.#isOver()) return undefined
    if (this.#batch === null) {
      this.#batch = this.#empty.afterResponse()
      this.#batch.log = new RequestLog(this.#batch, (_, error) => {
        if (isLoggedByFastify()) this.addError(error)
      })
      waiting.add(this)
      setTimeout(() => this.write(), this.#delay).unref()
      this.#delay = Math.min(this.#delay * 2, MAX_DELAY)
    }
    return this.#batch
  }

  /** Queries of the batch may have further secrets. */
  #maskOf (batch: Recording | null): Mask {
    return (this.#mask ?? this.services.mask).withTexts(batch?.secretTexts?.() ?? [])
  }

  #isOver (): boolean {
    return performance.now() > this.#until
  }

  /** Adds the batch to the profile: after its delay, or when the application is closed. */
  write (): void {
    const batch = this.#batch
    this.#batch = null
    waiting.delete(this)
    if (batch === null) return
    // Makes the profile.
    if (this.#mask === null) this.services.profiler.queue.get(this.#token)
    const all = batch.log?.records(ownSource) ?? []
    const records = all.slice(0, Math.max(0, this.#linesLeft))
    this.#linesLeft -= records.length
    const mask = this.#maskOf(batch)
    const logs = records.flatMap((line) => batch.log?.masked(line, mask) ?? [])
    const names = Object.keys(batch.collected)
    const collected = Object.fromEntries(names.map((name) => [name, collectedBy(batch, name)]))
    const data = plainCopy(collected, mask.redact) as typeof collected
    if (logs.length === 0 && names.length === 0) return
    // Otherwise each late line would list the request anew.
    this.#amend((profile) => completed(profile, logs, data, this.services.parts), true)
  }

  #amend (change: (profile: Profile) => Profile, keepsPlace = false): void {
    this.services.profiler.amend(this.#token, change, keepsPlace).catch((reason: unknown) => {
      this.services.warn('A profile was not completed', reason)
    })
  }
}

/** A profile with what came after the response. */
function completed (
  profile: Profile, logs: Profile['logs'], late: Readonly<Record<string, unknown>>, parts: Services['parts']
): Profile {
  const collectors = { ...profile.collectors }
  for (const [name, data] of Object.entries(late)) {
    const part = parts.find((one) => one.name === name)
    if (!isObject(data)) continue
    collectors[name] = attempt(() => part?.complete?.(dataOf(profile, name), data) ?? data, () => collectors[name])
  }
  return { ...profile, logs: [...profile.logs, ...logs], collectors }
}

/** A profile with one more error. */
function withError (profile: Profile, chain: FlattenedException[]): Profile {
  const { exceptions, collectors } = profile
  if (exceptions.length === 0) return { ...profile, exceptions: chain }
  const { otherErrors = [] } = collectors as { otherErrors?: unknown[] }
  return { ...profile, collectors: { ...collectors, otherErrors: [...otherErrors, chain] } }
}

/** Milliseconds until the profiles of called servers are stored: they end when the call does. */
const CALLED_DELAY = 1_000
/** Milliseconds by which the clocks of two machines may differ. */
const MAX_DIFFERENCE = 5_000

/**
 * Makes a profile the parent of those of its called servers, where these are in the same store. A profile of another
 * store may have the token of one in this store: it is another request.
 */
export function linkCalled (profile: Profile, { profiler, warn }: Services): void {
  const calls = listOf(dataOf(profile, 'http-client').calls).filter((call) => call.profile !== undefined)
  if (calls.length === 0) return
  const { token, time } = profile
  setTimeout(() => {
    for (const { profile: address, method, start } of calls) {
      const began = Date.parse(time) + Number(start)
      profiler.amend(String(address).slice(-token.length), (called) => {
        const isCalled = called.method === method && Math.abs(Date.parse(called.time) - began) <= MAX_DIFFERENCE
        return called.parent === undefined && called.token !== token && isCalled ? { ...called, parent: token } : called
      }, true).catch((reason: unknown) => warn('A profile was not linked', reason))
    }
  }, CALLED_DELAY).unref()
}
