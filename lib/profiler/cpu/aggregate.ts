import type { Profiler, Runtime } from 'node:inspector'
import { isAbsolute, relative, sep } from 'node:path'
import { isInternal, originalPlace, toPath } from '../../errors/stack-frame.js'
import { cut } from '../../view/visible.js'
import type { CodeKind, CpuFunction, CpuRecord } from './record.js'

/** What is known of a recording beside its samples. */
export type CpuFacts = Pick<CpuRecord, 'interval' | 'startup' | 'others' | 'end'>

const LEFT_OUT: CpuFunction = { name: '(left out)', file: '', line: 0, column: 0, kind: 'engine' }
const RECORDER = new URL('./recorder', import.meta.url).href
const MAX_NAME = 200
const MAX_FILE = 500
const NO_SCRIPT = '0'

/** The calls of one function that its caller made, with the recorder left out. Times are microseconds. */
interface Call {
  function: CpuFunction
  self: number
  total: number
  /** By the key of the function. */
  callees: Map<string, Call>
}

/** Makes the record of a recording, with at most `maxBytes` of JSON: if necessary, small calls are merged. */
export function aggregate (
  profile: Profiler.Profile,
  facts: CpuFacts,
  maxBytes: number,
  mask: (text: string) => string
): CpuRecord {
  const root = treeOf(profile, mask)
  const total = root?.total ?? 0
  let leftOut = 0
  for (;;) {
    const record: CpuRecord = {
      ...facts,
      duration: Math.round(total) / 1000,
      samples: profile.samples?.length ?? 0,
      ...(leftOut > 0 && { leftOut }),
      ...columnsOf(root, leftOut)
    }
    if (leftOut > total || JSON.stringify(record).length <= maxBytes) return record
    leftOut = leftOut === 0 ? Math.ceil(total / 10_000) + 1 : leftOut * 2
  }
}

/** The call tree: calls of one function by the same caller are one call. */
function treeOf (profile: Profiler.Profile, mask: (text: string) => string): Call | undefined {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]))
  const functions = new Map<string, CpuFunction>()
  const times = timesOf(profile)
  function add (node: Profiler.ProfileNode, siblings: Map<string, Call>): number {
    const { scriptId, lineNumber, columnNumber, functionName } = node.callFrame
    const key = `${scriptId} ${lineNumber} ${columnNumber} ${functionName}`
    const called = functions.get(key) ?? functionOf(node.callFrame, mask)
    functions.set(key, called)
    const call = siblings.get(key) ?? { function: called, self: 0, total: 0, callees: new Map<string, Call>() }
    siblings.set(key, call)
    const self = times.get(node.id) ?? 0
    let total = self
    for (const id of node.children ?? []) {
      const callee = nodes.get(id)
      // Starting and stopping the recorder is no work of the request.
      if (callee !== undefined && !isRecorder(callee)) total += add(callee, call.callees)
    }
    call.self += self
    call.total += total
    return total
  }
  const roots = new Map<string, Call>()
  const [root] = profile.nodes
  if (root !== undefined) add(root, roots)
  return [...roots.values()][0]
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

/** The tree as it is stored. Calls with a total below `leftOut` are merged into one call below their caller. */
function columnsOf (root: Call | undefined, leftOut: number): Pick<CpuRecord, 'functions' | 'calls'> {
  const functions = new Map<CpuFunction, number>()
  const calls: CpuRecord['calls'] = { function: [], parent: [], self: [] }
  function add (call: Call, parent: number): void {
    const index = functions.get(call.function) ?? functions.size
    functions.set(call.function, index)
    calls.function.push(index)
    calls.parent.push(parent)
    const position = calls.self.push(call.self) - 1
    const callees = [...call.callees.values()]
    for (const callee of callees) if (callee.total >= leftOut) add(callee, position)
    const self = callees.reduce((sum, { total }) => total < leftOut ? sum + total : sum, 0)
    if (self > 0) add({ function: LEFT_OUT, self, total: self, callees: new Map() }, position)
  }
  if (root !== undefined) add(root, -1)
  return { functions: [...functions.keys()], calls }
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
