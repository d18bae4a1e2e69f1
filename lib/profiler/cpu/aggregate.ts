import type { Profiler, Runtime } from 'node:inspector'
import { isAbsolute, relative, sep } from 'node:path'
import { isInternal, originalPlace, toPath } from '../../errors/stack-frame.js'
import { cut } from '../../view/visible.js'
import type { CodeKind, CpuFunction, CpuRecord } from './record.js'

const RECORDER = new URL('./recorder', import.meta.url).href
const MAX_NAME = 200
const MAX_FILE = 500
const NO_SCRIPT = '0'

/** A call: its function, its caller (an index), and the microseconds in itself and with the calls that it made. */
interface Call {
  function: CpuFunction
  caller: number
  self: number
  total: number
}

/** Makes the record of a recording, with at most `maxBytes` of JSON: if necessary, small calls are merged. */
export function aggregate (
  profile: Profiler.Profile, interval: number, maxBytes: number, mask: (text: string) => string
): CpuRecord {
  const all = callsOf(profile, mask)
  const total = all[0]?.total ?? 0
  for (let least = 0; ; least = Math.max(total / 10_000 + 1, least * 2)) {
    const calls = withoutSmall(all, least)
    const functions = [...new Set(calls.map((call) => call.function))]
    const indexes = new Map(functions.map((one, i) => [one, i]))
    const record: CpuRecord = {
      interval,
      duration: total / 1000,
      samples: profile.samples?.length ?? 0,
      functions,
      calls: calls.map((call) => [indexes.get(call.function) ?? 0, call.caller, call.self])
    }
    if (least > total || JSON.stringify(record).length <= maxBytes) return record
  }
}

/** The call tree, callers first: calls of one function by the same caller are one call. */
function callsOf (profile: Profiler.Profile, mask: (text: string) => string): Call[] {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]))
  const functions = new Map<string, CpuFunction>()
  const times = timesOf(profile)
  const calls: Call[] = []
  const indexes = new Map<string, number>()
  function add (node: Profiler.ProfileNode, caller: number): void {
    // Starting and stopping the recorder is no work of the request.
    if (isRecorder(node)) return
    const { scriptId, lineNumber, columnNumber, functionName } = node.callFrame
    const key = `${scriptId} ${lineNumber} ${columnNumber} ${functionName}`
    const called = functions.get(key) ?? functionOf(node.callFrame, mask)
    functions.set(key, called)
    const index = indexes.get(`${caller} ${key}`) ?? calls.push({ function: called, caller, self: 0, total: 0 }) - 1
    indexes.set(`${caller} ${key}`, index)
    const call = calls[index] as Call
    call.self += times.get(node.id) ?? 0
    for (const id of node.children ?? []) {
      const callee = nodes.get(id)
      if (callee !== undefined) add(callee, index)
    }
  }
  const [root] = profile.nodes
  if (root !== undefined) add(root, -1)
  for (const call of calls.toReversed()) {
    call.total += call.self
    const caller = calls[call.caller]
    if (caller !== undefined) caller.total += call.total
  }
  return calls
}

/** The calls, of which those with a total below `least` (µs) are merged into their callers. */
function withoutSmall (all: readonly Call[], least: number): Call[] {
  const kept: Call[] = []
  const positions: number[] = []
  for (const call of all) {
    const caller = positions[call.caller] ?? -1
    const isKept = caller === -1 || call.total >= least
    if (!isKept) (kept[caller] as Call).self += call.self
    positions.push(isKept ? kept.push({ ...call, caller }) - 1 : caller)
  }
  return kept
}

function isRecorder ({ callFrame: { url } }: Profiler.ProfileNode): boolean {
  return url.replace(/\.[jt]s(?:\?.*)?$/, '') === RECORDER
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
  const isMapped = isAbsolute(compiled.file) && lineNumber >= 0
  const { file, line, column } = (isMapped ? originalPlace(url, lineNumber, columnNumber) : null) ?? compiled
  const near = isAbsolute(file) ? relative(root, file) : file
  const path = near.startsWith('..') ? file : near
  return {
    name: cut(mask(functionName === '' ? '(anonymous)' : functionName), MAX_NAME),
    file: cut(mask(path), MAX_FILE),
    line,
    column,
    kind: url === '' && scriptId === NO_SCRIPT ? 'engine' : kindOf(file, path, url)
  }
}

function kindOf (file: string, path: string, url: string): CodeKind {
  if (url.startsWith('node:')) return 'node'
  // Code without a file is generated at run time, such as the validators of Fastify.
  if (!isAbsolute(file)) return 'dependency'
  if (isInternal(file)) return 'hindsight'
  return isAbsolute(path) || path.split(sep).includes('node_modules') ? 'dependency' : 'own'
}
