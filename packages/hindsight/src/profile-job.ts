import { openApplications, profilerSettings, recordingSetting } from './begin.js'
import { readPackageOptions } from './environment.js'
import {
  requestContext, runJob, warnOnce, type JobArguments, type JobOptions, type JobRunner
} from './recording/trace.js'

/**
 * Runs work, and profiles it as a request is: `name` says what it is. Returns what the work returns, and throws what it
 * throws. In production it only runs the work, unless `profiler` says so. Within a request or a job it uses that
 * application's store; otherwise that of the application which was made last, or of the process, whose environment has
 * its options.
 */
export async function profile<T> (name: string, ...rest: JobArguments<T>): Promise<Awaited<T>> {
  return await runJob(runnerHere(), name, rest)
}

/** The same for a job whose place is in the stack of `at`. */
export async function profileFrom<T> (
  at: Error, name: string, options: JobOptions, work: () => T
): Promise<Awaited<T>> {
  return await runJob(runnerHere(), name, [options, work], at)
}

function runnerHere (): null | Promise<JobRunner | null> {
  const { trace, ofRequest: { late } = {} } = requestContext.getStore() ?? {}
  const { app } = trace?.services ?? late?.services ?? {}
  const setup = app?.hindsight ?? [...openApplications].at(-1)
  if (setup === undefined) return processJobs()
  return setup.recording === 'none' ? null : setup.jobs
}

let jobs: Promise<JobRunner | null> | null | undefined

/** What runs the jobs of a process without an application; null: they are not recorded. */
export function processJobs (): null | Promise<JobRunner | null> {
  if (jobs === undefined) jobs = openJobs()
  return jobs
}

// Work runs whether or not it can be profiled: a wrong variable of the environment must not stop it.
function openJobs (): null | Promise<JobRunner | null> {
  try {
    const options = readPackageOptions()
    const { debug = false } = options
    const settings = profilerSettings(options.profiler)
    const recording = recordingSetting(debug, settings)
    if (recording === 'none' || settings === null) return null
    return import('./prepare.js').then(async ({ openJobRecorder }) =>
      await openJobRecorder({ ...options, debug }, settings, recording === 'always')).catch(warnOfJobs)
  } catch (error) {
    return warnOfJobs(error)
  }
}

function warnOfJobs (error: unknown): null {
  warnOnce('Jobs are not profiled', error)
  return null
}
