import type { Profiler, Session, Runtime } from 'node:inspector'
import { isAbsolute, relative } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isSameOrigin } from '../../http/origin.js'
import { doInternalWork } from '../../recording/event-loop.js'
import type { RequestTrace } from '../../recording/trace.js'
import { originalPlace, toPath } from '../../errors/source-map.js'
import { isInternal, isAppFile } from '../../errors/stack-frame.js'
import type { Mask } from '../../mask/mask.js'
import { SQLITE, sqliteClassOf } from '../../queries/clients/sqlite.js'
import { cutText } from '../../view/text.js'
import { definePart } from '../part.js'
import { CPU_HEADER, type CodeKind, type CpuFunction, type CpuRecord, type StoredCall } from './record.js'

/** Microseconds between two samples. */
const INTERVAL = 250
/** Milliseconds that a recording lasts at most. */
const MAX_DURATION = 30_000
const MAX_CALLS = 800

/** V8 profiles the whole process, so there is at most one recording, whichever application it belongs to. */
export let current: CpuRecording | undefined

/** Records the CPU profile of the process for one request, from its construction on. */
class CpuRecording {
  readonly token: string
  /** Set at the end, unless the profiler failed. */
  profile?: Profiler.Profile
  /** Why the profiler failed. */
  problem?: string
  #session?: Session
  readonly #timer = setTimeout(() => this.stop(), MAX_DURATION).unref()

  constructor (token: string) {
    this.token = token
    current = this
    try {
      // Node.js may be built without the inspector.
      const { Session } = process.getBuiltinModule('node:inspector')
      this.#session = new Session()
      this.#session.connect()
      post(this.#session, 'Profiler.enable')
      post(this.#session, 'Profiler.setSamplingInterval', { interval: INTERVAL })
      deoptimize(this.#session)
      post(this.#session, 'Profiler.start')
    } catch (error) {
      this.problem = String(error)
      this.stop()
    }
  }

  /** Ends the recording and disconnects from the inspector. Only the first call has an effect; never throws. */
  stop (): void {
    if (current !== this) return
    current = undefined
    clearTimeout(this.#timer)
    if (this.#session === undefined) return
    try {
      this.profile = post<Profiler.StopReturnType>(this.#session, 'Profiler.stop').profile
    } catch (error) {
      this.problem ??= String(error)
    } finally {
      this.#session.disconnect()
    }
  }
}

/**
 * Calls a method of the inspector and returns its result: a session of its own thread replies before `session.post`
 * returns. Throws where the method fails.
 */
function post<T> (session: Session, method: string, params: object = {}): T {
  let reply: unknown
  session.post(method, params, (error, result) => {
    if (error !== null) throw new Error(`${method}: ${error.message}`)
    reply = result
  })
  return reply as T
}

// The profiler does not record functions that were optimized before it started: their callers have their time.
// Precise coverage discards all optimized code; it must not end a coverage that the user runs.
function deoptimize (session: Session): void {
  if (process.env.NODE_V8_COVERAGE !== undefined) return
  post(session, 'Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  post(session, 'Profiler.stopPreciseCoverage')
}

/** The CPU profiles of requests that have the header or the query parameter, and may see the debug surface. */
export const cpuRecord = definePart<() => CpuRecord | { refused: string }>({ name: 'cpu', arrive: recordCpu })

function recordCpu (trace: RequestTrace): undefined | Promise<void> {
  if (!isRequested(trace)) return
  const { reply, recording: ofRequest } = trace
  // The profile is kept even if the options exclude the request.
  ofRequest.forceProfile = true
  const { mask, recorder }: FastifyInstance['hindsight'] = trace.scope.hindsight
  const token = recorder?.tokenOf(trace)
  if (token == null) return
  if (current !== undefined) {
    const refused = `A CPU profile was being recorded for ${current.token}, and only one runs at a time. Try again.`
    ofRequest.collect(cpuRecord, () => ({ refused }))
    return
  }
  const recording = doInternalWork(() => new CpuRecording(token))
  // Before the listeners that build the profile.
  for (const event of ['finish', 'close']) reply.raw.prependOnceListener(event, () => recording.stop())
  ofRequest.collect(cpuRecord, () => recordOf(recording, mask))
  // The call tree of the request must not begin below the recorder.
  return nextTurn().then(() => ofRequest.restart())
}

function recordOf (recording: CpuRecording, mask: Mask): CpuRecord | { refused: string } {
  recording.stop()
  const { profile, problem = 'the recorder failed' } = recording
  if (profile === undefined) return { refused: `The CPU profile could not be recorded: ${mask.text(problem)}.` }
  return aggregateProfile(profile, INTERVAL, (text) => mask.text(text))
}

function isRequested ({ request, recording, services }: RequestTrace): boolean {
  const { headers, query } = request
  const parameter = (query as Record<string, unknown> | undefined)?._cpu
  if (headers[CPU_HEADER] !== '1' && parameter !== '1') return false
  if (!recording.isRecording || !services.isDebugClient(request)) return false
  // A replay repeats earlier headers.
  return recording.replayOf !== undefined || isPageRequest(request, services)
}

// Pages of other sites must not start recordings. Browsers send `Sec-Fetch-Site` by https and to local addresses
// (Fetch Metadata, section 2.4). Elsewhere a page can hide its origin, except if it sends a header of its own.
function isPageRequest (request: FastifyRequest, { originOf }: RequestTrace['services']): boolean {
  const { origin, referer, 'sec-fetch-site': site, [CPU_HEADER]: flag } = request.headers
  if (site !== undefined) return site === 'same-origin' || site === 'none'
  const page = origin ?? referer
  if (page === undefined) return flag === '1'
  return URL.canParse(page) && isSameOrigin(new URL(page).origin, originOf(request))
}

const MAX_NAME = 200
const MAX_FILE = 500
const NO_SCRIPT = '0'
const MAX_COLUMN = 1_000_000

/** Makes the record of a recording. Above a limit, the calls that took least are merged into their callers. */
export function aggregateProfile (
  profile: Profiler.Profile, interval: number, mask: (text: string) => string
): CpuRecord {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]))
  const times = timesOf(profile)
  /** The time of each node with the calls that it made; callers are before these. */
  const totals = new Map<number, number>()
  const functions: CpuFunction[] = []
  const indexes = new Map<string, number>()
  const calls: StoredCall[] = []
  /** Microseconds of lines of the functions of the application. */
  const lines = new Map<CpuFunction, Map<number, number>>()

  function calleesOf ({ children = [] }: Profiler.ProfileNode): Profiler.ProfileNode[] {
    return children.map((id) => nodes.get(id)).filter((node) => node !== undefined)
  }

  function addTotal (node: Profiler.ProfileNode): number {
    totals.set(node.id, 0)
    const total = calleesOf(node).reduce((sum, callee) => sum + addTotal(callee), times.get(node.id) ?? 0)
    totals.set(node.id, total)
    return total
  }

  /** V8 has the lines of a function without those of its calls, and for native code the line that has called it. */
  function addLines ({ id, positionTicks = [], hitCount = 0 }: Profiler.ProfileNode, at: Caller): void {
    if (at.function.kind !== 'own') return
    const ofLines = lines.get(at.function) ?? new Map<number, number>()
    lines.set(at.function, ofLines)
    for (const { line, ticks } of positionTicks) {
      const original = originalLine(at, line)
      const time = (times.get(id) ?? 0) * ticks / Math.max(1, hitCount)
      if (original !== null) ofLines.set(original, (ofLines.get(original) ?? 0) + time)
    }
  }

  function add (node: Profiler.ProfileNode, caller: number, at?: Caller): void {
    const { id, callFrame } = node
    const ofCaller = calls[caller]
    if (ofCaller !== undefined && !kept.has(id)) {
      ofCaller[2] += totals.get(id) ?? 0
      return
    }
    const { scriptId, lineNumber, columnNumber, functionName } = callFrame
    const isNative = isOfEngine(callFrame)
    const ofSqlite = isNative && at?.function.kind === 'hindsight' ? sqliteClassOf(functionName) : undefined
    const place = [scriptId, lineNumber, columnNumber, functionName, ofSqlite].join(' ')
    const called = indexes.get(place) ?? functions.push(functionOf(callFrame, mask)) - 1
    indexes.set(place, called)
    const found = functions[called] as CpuFunction
    if (ofSqlite !== undefined) {
      Object.assign(found, { name: `${ofSqlite}.${functionName}`, file: SQLITE, kind: 'node' })
    }
    const here = { frame: callFrame, function: found }
    addLines(node, isNative && at !== undefined ? at : here)
    const index = calls.push([called, caller, times.get(id) ?? 0]) - 1
    for (const callee of calleesOf(node)) add(callee, index, here)
  }

  const [root] = profile.nodes
  const total = root && addTotal(root)
  // A caller takes as long as its calls, and is before them: it is kept with them.
  const kept = new Set([...totals].sort(([, a], [, b]) => b - a).slice(0, MAX_CALLS).map(([id]) => id))
  if (root !== undefined) add(root, -1)
  for (const [one, ofLines] of lines) {
    const [hot] = [...ofLines].sort(([, a], [, b]) => b - a)
    if (hot !== undefined) one.hot = [hot[0], Math.round(hot[1])]
  }
  return { interval, duration: (total ?? 0) / 1000, samples: profile.samples?.length ?? 0, functions, calls }
}

/** A function with its frame in the compiled code. */
interface Caller { frame: Runtime.CallFrame, function: CpuFunction }

/** The line in the source of a 1-based line of the compiled code; null where it is not known. */
function originalLine ({ frame, function: called }: Caller, line: number): number | null {
  const { url, lineNumber, columnNumber } = frame
  if (lineNumber < 0 || originalPlace(url, lineNumber, columnNumber) === null) return line
  // The last part of the line: its beginning belongs to the line before it.
  const place = originalPlace(url, line - 1, MAX_COLUMN)
  return place !== null && place.line >= called.line ? place.line : null
}

/** The time of each node in itself. A sample lasts until the next one; before the first one the recorder started. */
function timesOf ({ samples = [], timeDeltas = [], startTime, endTime }: Profiler.Profile): Map<number, number> {
  const times = new Map<number, number>()
  let at = startTime + (timeDeltas[0] ?? 0)
  for (const [i, id] of samples.entries()) {
    const next = i + 1 < samples.length ? at + Math.max(0, timeDeltas[i + 1] ?? 0) : Math.max(at, endTime)
    times.set(id, (times.get(id) ?? 0) + Math.round(next - at))
    at = next
  }
  return times
}

/** The function of a call frame: its place in the source before compilation, and its owner. */
export function functionOf (
  { functionName, scriptId, url, lineNumber, columnNumber }: Runtime.CallFrame,
  mask: (text: string) => string,
  root = process.cwd()
): CpuFunction {
  const compiled = { file: toPath(url), line: Math.max(0, lineNumber + 1), column: Math.max(0, columnNumber + 1) }
  // The top level of a module has no line.
  const original = lineNumber >= 0 && !url.startsWith('node:') ? originalPlace(url, lineNumber, columnNumber) : null
  const { file, line, column } = original ?? compiled
  return {
    name: cutText(mask(functionName || '(anonymous)'), MAX_NAME),
    file: cutText(mask(nearPath(file, root)), MAX_FILE),
    line,
    column,
    kind: kindOf(file, url, scriptId)
  }
}

/** A path below the root relative to it. */
function nearPath (file: string, root: string): string {
  if (!isAbsolute(file)) return file
  const near = relative(root, file)
  return near.startsWith('..') ? file : near
}

function isOfEngine ({ url, scriptId }: Pick<Runtime.CallFrame, 'url' | 'scriptId'>): boolean {
  return url === '' && scriptId === NO_SCRIPT
}

function kindOf (file: string, url: string, scriptId: string): CodeKind {
  if (isOfEngine({ url, scriptId })) return 'engine'
  if (url.startsWith('node:')) return 'node'
  if (isInternal(file)) return 'hindsight'
  // Code without a file is generated at run time, such as the validators of Fastify.
  return isAppFile(file) ? 'own' : 'dependency'
}
