import { performance } from '../clock.js'
import { doInternalWork } from './event-loop.js'
import type { EventRecorder, RecordedFunction } from './event-recorder.js'
import type { CallValues, FlattenedException } from '../errors/exception.js'
import type { RequestLog } from '../logs/log-record.js'
import { SendingRecord } from './sending.js'
import type { WorkLog } from './work-log.js'

const MAX_OTHER_ERRORS = 25
/** Of the errors that a request has thrown. */
const MAX_THROWN = 100

/** When parts of a request began or ended: milliseconds on the clock of `performance.now()`; 0: not yet, or never. */
export type Timing = typeof NOT_BEGUN

const NOT_BEGUN = {
  startedAt: 0,
  /** When the body was read and parsed, in debug mode. */
  parsedAt: 0,
  handlerStart: 0,
  handlerEnd: 0,
  /** When the result of the handler was about to be serialized. */
  serializeStart: 0,
  /** When the hooks of the response began after that. */
  serializeEnd: 0,
  /** When the response was ready to be sent. */
  responseReadyAt: 0,
  endedAt: 0,
  /** When Hindsight began to make its page or toolbar. */
  internalStart: 0,
  /** The milliseconds that this took. */
  own: 0,
  /** Milliseconds before `startedAt` in which Hindsight started the CPU profile. */
  prepared: 0,
  /** When the request began, in milliseconds since the epoch. */
  startedTime: 0
}

/**
 * A response that could not be serialized or sent: why, which hook of the application has returned its payload or set
 * its header, and what its schema requires, in words.
 */
export interface RefusedResponse {
  why: string
  hook?: Omit<RecordedFunction, 'index'> | undefined
  explanation?: string
}

interface Failure {
  error: unknown
  after: 'handler' | 'failure' | null
  /** The first of several failures, where this is not the first one. */
  first?: unknown
  /** Whether the response about this failure has failed in the same way. */
  isRepeated?: boolean
  isOfNotFound?: boolean
  refused?: RefusedResponse | undefined
  calls?: Error
  /** Whether no variables were read for a time. */
  unread?: boolean
  /** The status with which an error handler has sent an error after it. */
  sentStatus?: number
}

/** An error that was thrown, and the innermost call of the application that it has reached. */
export interface ThrownError { error: unknown, call: CallValues }

/** The place of a part in each recording: `definePart` makes it. `T` is what the part keeps there. */
export interface Slot<T> {
  /** The key of its data in `profile.collectors`. */
  name: string
  /** Makes the data of the profile, masked; undefined: it has none. Default: what is kept, or what that returns. */
  data?: (kept: T, recording: Recording) => unknown
}

/** The route that matched, as the profile has it. */
export interface ProfiledRoute {
  name: string
  /** The pattern as declared, prefixes included. */
  pattern: string
  params: Record<string, unknown>
  methods: string[]
  /** The method of a class that a framework calls as the handler, such as `CatsController.findOne`. */
  controller?: string
  /** Where the route was declared, `file:line`, where known. */
  handler?: string
}

/** The kinds of work that is profiled outside of requests. */
export const JOB_KINDS = ['job', 'schedule', 'command', 'start'] as const

/** What the profile of work outside of requests has besides. */
export interface JobFacts {
  kind: typeof JOB_KINDS[number]
  name: string
  /** The name of the job in its queue, which its attempts have in common. */
  id?: string
  /** From 1 on. */
  attempt?: number
  /** Milliseconds for which it has waited in its queue. */
  queued?: number
}

/** A part of a request that has a schema, as it was before validation. */
export interface UnvalidatedInput { value: unknown, schema: unknown, name: string }

/**
 * Returns the address of the record of a span's operation; null where there is none. Times are on the clock of
 * `performance.now()`.
 */
export type SpanOwner =
  (span: { attributes: Readonly<Record<string, unknown>>, startedAt: number, endedAt: number }) => string | null

/**
 * What is recorded of one request. Requests that are profiled only if they fail have their beginning, the end of their
 * response and the lines of their log until then; `events` is null. A part keeps what it records in its slot.
 */
export class Recording {
  readonly timing: Timing

  /**
   * The error that the response is about, which may be undefined or null itself, and whether it was raised after the
   * handler had returned or sent its response, or after an earlier failure. `isOfNotFound`: while the not-found handler
   * of the application, or its hook, ran. `calls`: an error whose stack led to `reply.send()`, in debug mode. Null
   * where there is none.
   */
  failure: Failure | null = null
  /** Whether nothing was recorded before the failure: it is unknown how far the request had come. */
  isPartial = false
  /** The listener or hook that raised it, where one did. */
  raisedBy: { stage: string, listener: string, plugin?: string | undefined, source?: string | undefined } | null = null
  /** Further errors, in the order in which they occurred: see `addError`. */
  readonly otherErrors: unknown[] = []
  /** The errors with which responses have failed, in their order. */
  failures?: unknown[]
  /** The errors that the inspection has seen until the response ended; most of them are caught. */
  thrown?: ThrownError[]
  /** Whether it has not seen all of them. */
  missesThrown = false
  /** `rests` of the inspection when the request began. */
  rests = 0
  /** The not-found or method-not-allowed error of a request without a route that the application answers. */
  routeError: Error | null = null
  /** How its response is sent. */
  readonly sending = new SendingRecord()
  /** The events of the request, and the changes of headers; null where they are not recorded. */
  events: EventRecorder | null = null
  /** What the request waits for; absent unless it is recorded from its beginning. */
  work?: WorkLog
  /** The parts of the request that have a schema. */
  unvalidated?: Partial<Record<'body' | 'query' | 'params' | 'headers', UnvalidatedInput>>
  /** Makes the route of the profile, or null; absent before the route is known. */
  matchedRoute?: () => ProfiledRoute | null
  /** Makes a function that finds what parts have recorded of the operations of spans. */
  spanOwner?: () => SpanOwner
  readonly #kept = new Map<string, { part: Slot<any>, value: unknown }>()
  /** The method that a framework calls as the handler, such as `CatsController.findOne`, and its `file:line`. */
  controller: string | null = null

  /** The chain of the error, flattened and masked; root cause first. */
  exceptions?: FlattenedException[] | undefined
  /** Secrets of its queries until now, which errors and log lines may repeat. The same list where nothing is new. */
  secretTexts?: () => readonly string[]
  /** The lines that the logger of the request has written; absent where it is not captured. */
  log?: RequestLog
  /** The profile of a failed request, where one is kept. */
  profile?: { token: string, url: string }
  /** The chunks of a JSON body; null if it is larger than 64 kB. */
  receivedBody?: Buffer[] | null
  /** Bodies of a framework's default responses to the error, which the diagnostic page may replace. */
  defaultAnswers?: readonly string[]
  /** The error of a request that matched a route, and for which `reply.callNotFound()` was called. */
  declined?: Error

  token?: string
  /** The random value in 0..1 that decides whether a sampled request is profiled. */
  sample?: number
  /** Whether the request is profiled even if the options exclude it: a replay, or a request with a CPU profile. */
  forceProfile?: boolean
  /** The token of the request that has injected this one. */
  parent?: string | undefined
  /** The token of the redirect that was followed by this one; null: none was found. */
  followOf?: string | null
  /** The token of the profile whose request this one repeats. */
  replayOf?: string
  /** The data of the application's collectors, from the first profile on: they run once. */
  applicationData?: Record<string, unknown>

  /** On the clock of `performance.now()`: what happens later is recorded separately. */
  until = Infinity
  /** Whether it has what happens after the response only. */
  readonly isLate: boolean

  /** `ended`: the timing of the request, for a recording of what happens after its response. */
  constructor (ended?: Timing) {
    this.timing = { ...ended ?? NOT_BEGUN }
    this.isLate = ended !== undefined
  }

  /** An empty recording of what happens after the response, which does not reference this one. */
  afterResponse (): Recording {
    return new Recording(this.timing)
  }

  get raised (): unknown {
    return this.failure?.error
  }

  /** When the work of Hindsight began that has not ended; null: none. */
  internalSince: number | null = null

  /** Milliseconds since the request arrived. */
  get age (): number {
    return performance.now() - this.timing.startedAt
  }

  /** Counts the times of the request from now on: until now Hindsight has delayed it. */
  restart (): void {
    const { timing, age } = this
    timing.prepared += age
    timing.startedAt += age
    timing.startedTime = Math.round(timing.startedTime + age)
    this.events?.restart(timing.startedAt)
    this.work?.restart(timing.startedAt)
  }

  /** Whether the request, or other work, has ended. */
  get isOver (): boolean {
    return this.timing.endedAt !== 0 || this.sending.isOver
  }

  /** Whether events, headers and log lines are recorded: at once, or since the request has failed. */
  get isRecording (): boolean {
    return this.events !== null || this.isLate
  }

  /**
   * Adds a further error, such as one that is raised after the response. False: it is recorded already, or there are as
   * many as are kept.
   */
  addError (error: unknown): boolean {
    const isRecorded = this.otherErrors.includes(error) || (this.failure !== null && this.failure.error === error)
    if (isRecorded || this.otherErrors.length >= MAX_OTHER_ERRORS) return false
    this.otherErrors.push(error)
    return true
  }

  /** Adds an error that was thrown, once. */
  addThrown (error: unknown, call: CallValues): void {
    const thrown = this.thrown ??= []
    if (this.timing.endedAt !== 0 || thrown.some((one) => Object.is(one.error, error))) return
    if (thrown.length < MAX_THROWN) thrown.push({ error, call })
    else this.missesThrown = true
  }

  /** Calls a function that may make what Hindsight adds to a response: its time is not that of the application. */
  measureInternal<T> (make: () => T): T {
    const { timing } = this
    this.work?.sample()
    const start = performance.now()
    this.internalSince = start
    try {
      const made = doInternalWork(make)
      if (made === null || made === undefined) return made
      timing.internalStart ||= start
      timing.own += performance.now() - start
      return made
    } finally {
      this.internalSince = null
    }
  }

  /** What a part keeps here; undefined: nothing. */
  get<T> ({ name }: Slot<T>): T | undefined {
    return this.#kept.get(name)?.value as T | undefined
  }

  /** Keeps something for a part, in place of what it has kept before. */
  set<T> (part: Slot<T>, value: T): T {
    this.#kept.set(part.name, { part, value })
    return value
  }

  /** Keeps something for a part if the request is recorded. */
  collect<T> (part: Slot<T>, value: T): void {
    if (this.isRecording) this.set(part, value)
  }

  /** The names of the parts that keep something here. */
  get partNames (): string[] {
    return [...this.#kept.keys()]
  }

  /** The data of a part for the profile; undefined: it has none. Throws what its function throws. */
  dataOf (name: string): unknown {
    const { part, value } = this.#kept.get(name) ?? {}
    if (part?.data !== undefined) return part.data(value, this)
    return typeof value === 'function' ? value() as unknown : value
  }
}
