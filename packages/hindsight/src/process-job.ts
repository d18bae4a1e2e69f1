import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { constants } from 'node:os'
import { relative } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import type { FastifyInstance } from 'fastify'
import { openApplications, profilerSettings } from './begin.js'
import { performance, roundTime } from './clock.js'
import { captureLines } from './logs/log-capture.js'
import type { HindsightOptions } from './options.js'
import { isOpening } from './page-server.js'
import { servicesOfProcess } from './prepare.js'
import { processJobs } from './profile-job.js'
import { beginJob, exitError } from './recording/jobs.js'
import type { JobFacts } from './recording/recording.js'
import { JobTrace, setProcessContext } from './recording/trace.js'

/** Milliseconds from which a command that has not failed is kept. */
const MIN_COMMAND = 1_000
/** The exit codes of a process that was told to end, by the convention of shells; tsx has the same for its child. */
const STOPPED = [128 + constants.signals.SIGINT, 128 + constants.signals.SIGTERM]
/** The diagnostics channel of new applications. */
const MADE = 'fastify.initialization'
/** The diagnostics channel of new child processes. */
const CHILD = 'child_process'
/** The path of a program of a package, such as tsx. */
const PACKAGED = /[\\/]node_modules[\\/]/
/** A line of the tree of plugins that Fastify prints: its depth, the name and the milliseconds. */
const PLUGIN = /^(.*?[\u2500\u252c] )(.+) (\d+) ms$/

/**
 * Records what belongs to no request and no job, from now until an application listens: as the start of the
 * application, or as a command where the process ends before. Resolves when the end of the process can be recorded.
 */
export async function watchProcess (options: HindsightOptions): Promise<void> {
  const settings = profilerSettings(options.profiler)
  const [, file] = process.argv
  if (settings === null || file === undefined || !isMainThread) return
  const jobs = await processJobs()
  // Without an ES module that waits for this, the application may exist.
  if (jobs === null || openApplications.size > 0) return
  const services = servicesOfProcess({ ...options, debug: true }, settings)
  const { parts } = services
  const input = process.argv.slice(2)
  const facts: JobFacts = { kind: 'command', name: relative(process.cwd(), file) }
  const trace = new JobTrace(services, facts, input.length === 0 ? undefined : input, new Error('The preload'))
  const ends = parts.flatMap(({ start }) => start?.({ hindsight: services }) ?? [])
  let raised: { error: unknown } | undefined
  let child: ChildProcess | undefined
  const onChild = (message: unknown): void => { child = (message as { process: ChildProcess }).process }
  // An uncaught error of a job or a request ends the process, too.
  const onUncaught = (error: unknown): void => { raised = { error } }
  const onExit = (code: number): void => {
    if (raised === undefined && STOPPED.includes(code)) return
    // The failure is that of its child process, which has a profile of its own.
    if (raised === undefined && PACKAGED.test(file) && child?.exitCode === code) return
    const { log, age } = trace.recording
    const { error = exitError(`The process exited with code ${code}`) } = raised ?? log?.logged ?? {}
    // The application may have handled what was raised.
    if (code !== 0) jobs.fail(trace, error)
    else if (facts.kind === 'command' && age >= MIN_COMMAND) jobs.end(trace)
  }
  watchStart(trace, () => {
    setProcessContext(undefined)
    unsubscribe(CHILD, onChild)
    process.off('uncaughtExceptionMonitor', onUncaught).off('exit', onExit)
    for (const end of ends) end()
  })
  captureLines()
  beginJob(trace, parts, true)
  setProcessContext(trace.context)
  subscribe(CHILD, onChild)
  // Before the listener that writes the last profiles.
  process.on('uncaughtExceptionMonitor', onUncaught).prependListener('exit', onExit)
}

/** Makes the work of the process the start of its first application; `end` is called when that listens. */
function watchStart (trace: JobTrace, end: () => void): void {
  const onMade = (message: unknown): void => {
    if (isOpening) return
    unsubscribe(MADE, onMade)
    const { fastify: app } = message as { fastify: FastifyInstance }
    const { startedAt } = trace.recording.timing
    const made = performance.now() - startedAt
    let loaded = made
    trace.facts.kind = 'start'
    app.addHook('onReady', function hindsightLoaded (done) {
      loaded = performance.now() - startedAt
      done()
    })
    app.addHook('onListen', function hindsightStarted (done) {
      const { age } = trace.recording
      const steps = [
        { name: 'before the application', start: 0, duration: roundTime(made) },
        { name: 'plugins', start: roundTime(made), duration: roundTime(loaded - made) },
        { name: 'onReady hooks and listen', start: roundTime(loaded), duration: roundTime(age - loaded) }
      ]
      trace.start = { steps, plugins: pluginsOf(app.printPlugins()) }
      end()
      // The next hooks do not wait for what records jobs. An earlier Fastify is not observed.
      if (app.hasDecorator('hindsight')) void app.hindsight.jobs.then((jobs) => jobs?.end(trace))
      done()
    })
  }
  subscribe(MADE, onMade)
}

/** The plugins of the tree that Fastify prints, with their times; a nested one is in the time of that around it. */
function pluginsOf (tree: string): Array<{ name: string, duration: number }> {
  let hidden: number[] = []
  return tree.split('\n').flatMap((line) => {
    const [, branch = '', name = '', duration] = PLUGIN.exec(line) ?? []
    if (duration === undefined) return []
    const depth = branch.length / 2 - 2
    hidden = hidden.filter((around) => around < depth)
    if (name === 'bound _after') {
      // What `after` has registered is nested in the plugin that has called it.
      hidden.push(depth)
      return []
    }
    const indent = '\u2003'.repeat(depth - hidden.length)
    return [{ name: `${indent}${name}`, duration: Number(duration) }]
  })
}
