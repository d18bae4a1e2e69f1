import { channel } from 'node:diagnostics_channel'
import { isMainThread, Worker } from 'node:worker_threads'
import createError from '@fastify/error'
import { readText } from '../require.js'
import { keepScriptMap } from '../errors/source-map.js'
import { beginThreadWork, doPauseWork, heartbeat, type Pause } from '../recording/event-loop.js'
import { inspectCalls, limits, recordBlock, settleThrown } from './inspect-calls.js'

const CODE = readText(import.meta.url, './thread.js')
/** On this channel the thread finds the functions that it calls; of several copies of Hindsight, one has a thread. */
const inspectorChannel = channel('fastify-hindsight:inspector')
const PHASES = { starting: 0, connected: 1, ended: 2 }
/** The places in the memory that is shared with the thread. */
const PHASE = 0
const RESTS = 1
/** Milliseconds that the process waits for the end of the session. */
const STOP_TIMEOUT = 500
/** The text of Node.js options that start its inspector, or the coverage of its test runner. */
const INSPECT = /(?:^|\s)--(?:inspect(?:-brk|-wait)?|experimental-test-coverage)(?:[=\s]|$)/

/** A function of a compiled file; positions are 0-based. */
export interface CompiledFunction { url: string, name: string, first: Position, last: Position }

interface Position { line: number, column: number }

const NoCoverageError = createError('HINDSIGHT_NO_COVERAGE',
  'The functions that ran cannot be recorded: the thread that reads variables does not run in this process. ' +
  'It needs the option values, and no debugger or coverage.', 409)

/** The thread that reads variables where an error is thrown. It keeps no idle process alive. */
class Inspection {
  /** Whether the thread reads variables; false where it does not, or no longer. */
  ready: Promise<boolean> = Promise.resolve(false)
  /** Resolves when the thread has ended. */
  ended: Promise<unknown> = Promise.resolve()
  #worker: Worker | null = null
  #wasStarted = false
  readonly #state = new Int32Array(new SharedArrayBuffer(8))

  /** Starts the thread of the process, unless something else inspects it. The first call only has an effect. */
  start (): void {
    if (this.#wasStarted) return
    this.#wasStarted = true
    if (!isMainThread || isInspected() || inspectorChannel.hasSubscribers) return
    inspectorChannel.subscribe(answer)
    try {
      this.#startWorker()
    } catch {
      // The permissions of Node.js may refuse a thread.
      this.#end()
    }
  }

  #startWorker (): void {
    const worker = this.#worker = new Worker(CODE, {
      eval: true,
      name: 'hindsight-values',
      workerData: { state: this.#state, heartbeat, channelName: inspectorChannel.name, limits },
      // Without the options and preloads of the application.
      execArgv: [],
      env: {},
      resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 64 }
    })
    worker.on('error', () => {})
    this.ended = new Promise((resolve) => { worker.once('exit', resolve) }).then(() => this.#end())
    const hasBegun = new Promise<boolean>((resolve) => { worker.once('message', () => resolve(true)) })
    this.ready = Promise.race([hasBegun, this.ended.then(() => false)])
    worker.unref()
    process.on('exit', this.#stopAndWait)
  }

  /** Whether the thread reads no variables for a while: it has done so too often. */
  get isResting (): boolean {
    return this.#worker !== null && this.rests % 2 === 1
  }

  /** How often such a time has begun and ended: odd while it lasts. */
  get rests (): number {
    return Atomics.load(this.#state, RESTS)
  }

  /** Whether the thread read no variables at a time since `rests` was taken. */
  hasRested (rests: number): boolean {
    return this.isResting || this.rests !== rests
  }

  /** A step of the comparison of the functions that two requests run; the last one returns those of one of them. */
  async cover (step: 'begin' | 'first' | 'end'): Promise<readonly CompiledFunction[][]> {
    const worker = this.#worker
    if (worker === null || !await this.ready) throw new NoCoverageError()
    const answered = new Promise<CompiledFunction[][]>((resolve) => { worker.once('message', resolve) })
    worker.postMessage(step)
    return await Promise.race([answered, this.ended.then(() => { throw new NoCoverageError() })])
  }

  /** Ends the thread where a debugger was attached after its start, before the next pause. */
  stepAside (): void {
    if (this.#worker !== null && hasDebugger()) this.#stopAndWait()
  }

  /** Ends the thread, for good. */
  stop (): void {
    // One that has not connected does not any more.
    Atomics.compareExchange(this.#state, PHASE, PHASES.starting, PHASES.ended)
    this.#worker?.postMessage('stop')
  }

  // Node.js waits for the sessions of an exiting process.
  readonly #stopAndWait = (): void => {
    if (this.#worker === null) return
    this.stop()
    Atomics.wait(this.#state, PHASE, PHASES.connected, STOP_TIMEOUT)
  }

  #end (): void {
    this.#worker = null
    inspectorChannel.unsubscribe(answer)
    process.off('exit', this.#stopAndWait)
  }
}

function answer (given: unknown): void {
  const inspector = {
    inspect: inPause(inspectCalls),
    settle: inPause(settleThrown),
    block: inPause(recordBlock),
    pass: inPause(() => {}),
    keepMap: keepScriptMap,
    isDebugged: hasDebugger,
    // V8 lists the scripts of the process for the thread, which takes long.
    started: beginThreadWork()
  }
  Object.assign(given as object, { inspector })
}

function inPause<Given extends unknown[]> (work: (...given: Given) => unknown) {
  return (pause: Pause, ...given: Given): unknown => doPauseWork(() => work(...given), pause)
}

/** Whether a debugger, coverage or a test runner of its own context inspects this process. */
function isInspected (): boolean {
  const { NODE_V8_COVERAGE, NODE_OPTIONS = '', JEST_WORKER_ID } = process.env
  if (NODE_V8_COVERAGE || JEST_WORKER_ID !== undefined) return true
  return INSPECT.test([...process.execArgv, NODE_OPTIONS].join(' ')) || hasDebugger()
}

// Each request asks it.
let nodeInspector: typeof import('node:inspector') | undefined

/** Whether a debugger may attach to this process; also where Node.js has no inspector. */
function hasDebugger (): boolean {
  if (nodeInspector === undefined && process.features.inspector) {
    nodeInspector = process.getBuiltinModule('node:inspector')
  }
  return nodeInspector === undefined || nodeInspector.url() !== undefined
}

/** The inspection of this process. */
export const inspection = new Inspection()
