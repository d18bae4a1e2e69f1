import { setImmediate } from 'node:timers'
import { performance } from '../clock.js'
import { outsideCalls } from '../errors/stack-frame.js'
import { ProcessExitError } from '../http/http-errors.js'
import { inspection } from '../inspection/inspection.js'
import { RequestLog } from '../logs/log-record.js'
import type { ProfilerSettings } from '../options.js'
import { snapshotOf } from '../parts/collect.js'
import type { StoringServices } from '../parts/part.js'
import { newToken, type Profile } from '../store/profile.js'
import { buildJobProfile } from './build-profile.js'
import { doInternalWork } from './event-loop.js'
import { EventRecorder } from './event-recorder.js'
import { LateRecording, notifyParts } from './late.js'
import { JOB_KINDS, type JobFacts } from './recording.js'
import {
  JobTrace, requestContext, RequestTrace, type JobCall, type JobOptions, type JobRunner, type LateRecorder
} from './trace.js'
import { isOldJob, waitingJob, type WaitingRequest } from './waiting.js'
import { WorkLog } from './work-log.js'

export interface JobRecorderOptions {
  services: StoringServices
  settings: ProfilerSettings
  /** Whether jobs are recorded from their beginning; otherwise those that fail have their error only. */
  recordsAll: boolean
  /** Makes the data of parts that all profiles of the application have. */
  ofApplication: () => Record<string, unknown>
}

/** Records the jobs of an application, or of a process without one, from their beginning to their profiles. */
export class JobRecorder implements JobRunner {
  readonly #options: JobRecorderOptions
  /** The jobs that have not ended, in the order of their beginning. */
  readonly #open = new Set<JobTrace>()

  constructor (options: JobRecorderOptions) {
    this.#options = options
  }

  /** Runs a job. A failure to record it changes nothing of the job. */
  async run<T> (name: string, options: JobOptions, work: () => T, call: JobCall): Promise<Awaited<T>> {
    const trace = this.#attempt(() => this.#begin(name, options, call))
    if (trace === undefined) return await work()
    try {
      // It may return a query that is sent when it is awaited.
      const result = await requestContext.run(trace.context, async () => await work())
      trace.result = snapshotOf(result)
      this.end(trace)
      return result
    } catch (error) {
      this.fail(trace, error)
      throw error
    }
  }

  #begin (name: string, options: JobOptions, { at, time }: JobCall): JobTrace {
    const { input, parent } = options
    const trace = new JobTrace(this.#options.services, factsOf(name, options, time), snapshotOf(input), at)
    trace.recording.parent = parent === undefined || parent === null ? currentToken() : tokenIn(parent)
    beginJob(trace, this.#options.services.parts, this.#keepsSuccess())
    this.#open.add(trace)
    return trace
  }

  /** Ends work that has not failed. */
  end (trace: JobTrace): void {
    this.#attempt(() => this.#end(trace))
  }

  /** Ends work that has failed. */
  fail (trace: JobTrace, error: unknown): void {
    // Whatever its recording does, it is not open any more.
    this.#open.delete(trace)
    this.#attempt(() => {
      const { recording } = trace
      // The end of the process has no variables.
      const unread = !(error instanceof ProcessExitError) && inspection.hasRested(recording.rests)
      recording.failure = { error, after: null, unread }
      recording.failures = [error]
      if (!recording.isRecording) {
        recording.isPartial = true
        beginRecording(trace, this.#options.services.parts)
      }
      this.#end(trace, error)
    })
  }

  #end (trace: JobTrace, error?: unknown): void {
    const { services, ofApplication } = this.#options
    const { recording } = trace
    const { parts, profiler } = services
    this.#open.delete(trace)
    for (const part of parts) part.end?.(trace, parts, error instanceof ProcessExitError ? error : undefined)
    recording.timing.endedAt = performance.now()
    recording.missesThrown ||= inspection.hasRested(recording.rests)
    recording.work?.end(recording.timing.endedAt)
    const { token = '', failure } = recording
    if (!recording.isRecording || (failure !== null && !this.#keepsFailure())) return trace.context.release()
    const finish = (): LateRecorder => {
      recording.until = Math.min(recording.until, performance.now())
      recording.log?.finish()
      return (trace.context.late ??= new LateRecording(token, recording, services))
    }
    const build = (): Profile => {
      const late = finish()
      const options = { maxBytes: profiler.maxProfileBytes, ofApplication: ofApplication() }
      const profile = doInternalWork(() => buildJobProfile(trace, parts, options))
      late.begin(trace.mask)
      notifyParts(profile, services)
      trace.context.release()
      return profile
    }
    if (profiler.defer(token, build, failure !== null)) setImmediate(finish)
    else trace.context.release()
  }

  /** To be called when the process exits: the open jobs do not end. */
  exit (code: number): void {
    for (const trace of this.#open) {
      const { facts: { kind }, recording: { otherErrors } } = trace
      let error: unknown = exitError(`The process exited with code ${code} before the ${kind} ended`)
      // Nobody caught the last error of the job. With the code 0, the application has handled it.
      if (code !== 0 && otherErrors.length > 0) error = otherErrors.at(-1)
      this.fail(trace, error)
    }
  }

  /** The jobs that have not ended after a second, the oldest first. */
  waiting (): WaitingRequest[] {
    return [...this.#open].filter(isOldJob).map((trace) => waitingJob(trace, this.#options.services.parts))
  }

  /** The profile until now of a job that has not ended. */
  unfinished (token: string): Profile | undefined {
    const trace = [...this.#open].find(({ recording }) => recording.token === token)
    if (trace === undefined) return undefined
    const { ofApplication, services: { parts, profiler } } = this.#options
    const collected = Object.fromEntries(parts.flatMap(({ name, pending }) =>
      pending === undefined ? [] : [[name, pending(trace, parts).data as unknown]]))
    const options = { maxBytes: profiler.maxProfileBytes, ofApplication: ofApplication(), collected }
    return buildJobProfile(trace, parts, options)
  }

  #keepsSuccess (): boolean {
    const { recordsAll, settings: { collect = true, onlyExceptions = false, sampling = 1 } } = this.#options
    return recordsAll && collect && !onlyExceptions && (sampling === 1 || Math.random() < sampling)
  }

  #keepsFailure (): boolean {
    const { collect = true, errors = false } = this.#options.settings
    return collect || errors
  }

  #attempt<T> (record: () => T): T | undefined {
    try {
      return record()
    } catch (error) {
      this.#options.services.warn('A job was not recorded', error)
    }
  }
}

/** The error of a process that exits, in whose stack is the function of the application that has called `exit`. */
export function exitError (message: string): ProcessExitError {
  const error = new ProcessExitError(message)
  // Where none has, the listeners of Hindsight would look like the cause.
  if (outsideCalls(error).length === 0) error.stack = `${error.name}: ${message}`
  return error
}

/** What an application says about a job; nothing checks the types of a queue's values before. */
function factsOf (name: string, { kind, id, attempt, queuedAt }: JobOptions, time: number): JobFacts {
  const facts: JobFacts = { kind: JOB_KINDS.find((known) => known === kind) ?? 'job', name: String(name) }
  const queued = time - Number(queuedAt ?? NaN)
  if (id !== undefined) facts.id = String(id)
  if (Number.isFinite(attempt)) facts.attempt = Number(attempt)
  // The clock of another machine may be ahead: how long it waited is unknown.
  if (Number.isFinite(queued) && queued >= 0) facts.queued = queued
  return facts
}

/** The token of a profile; undefined: the value is none. */
function tokenIn (value: unknown): string | undefined {
  return /^[0-9a-f]{6}$/.exec(String(value))?.[0]
}

/** Begins to record a job; `isRecorded`: also if it does not fail. */
export function beginJob (trace: JobTrace, parts: StoringServices['parts'], isRecorded: boolean): void {
  const { recording } = trace
  recording.token = newToken()
  recording.timing.startedAt = performance.now()
  recording.timing.startedTime = Date.now()
  recording.rests = inspection.rests
  if (isRecorded) beginRecording(trace, parts)
}

function beginRecording (trace: JobTrace, parts: StoringServices['parts']): void {
  const { recording } = trace
  const { startedAt } = recording.timing
  recording.work = new WorkLog(startedAt)
  recording.events = new EventRecorder([], startedAt, trace.mask.header)
  recording.log = new RequestLog(recording)
  for (const { begin } of parts) begin?.(trace)
}

/** The token of the profile of the request, or of the job, in whose asynchronous context this is called. */
export function currentToken (): string | undefined {
  const { trace, ofRequest: { late } = {} } = requestContext.getStore() ?? {}
  // The work is over, and its memory may have been released.
  if (late !== undefined) return late.token
  if (trace instanceof RequestTrace) return trace.services.app.hindsight.recorder?.tokenOf(trace) ?? undefined
  return trace?.recording.token
}
