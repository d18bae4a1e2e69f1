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

interface Node {
  /** An index of the list of nodes; -1: the root. */
  parent: number
  function: number
  self: number
  total: number
}

interface Samples {
  functions: CpuFunction[]
  /** Parents first. */
  nodes: Node[]
}

/** Makes the record of a recording, with at most `maxBytes` of JSON: if necessary, small calls are merged. */
export function aggregate (
  profile: Profiler.Profile,
  facts: CpuFacts,
  maxBytes: number,
  mask: (text: string) => string
): CpuRecord {
  const samples = samplesOf(profile, mask)
  const total = samples.nodes[0]?.total ?? 0
  let leftOut = 0
  for (;;) {
    const record: CpuRecord = {
      ...facts,
      duration: Math.round(total) / 1000,
      samples: profile.samples?.length ?? 0,
      ...(leftOut > 0 && { leftOut }),
      ...treeOf(samples, leftOut)
    }
    if (leftOut > total || JSON.stringify(record).length <= maxBytes) return record
    leftOut = leftOut === 0 ? Math.ceil(total / 10_000) + 1 : leftOut * 2
  }
}

function samplesOf (
  { nodes, samples = [], timeDeltas = [], startTime, endTime }: Profiler.Profile,
  mask: (text: string) => string
): Samples {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const result: Samples = { functions: [], nodes: [] }
  const functions = new Map<string, number>()
  const indexes = new Map<number, number>()
  const queue = nodes.slice(0, 1).map((node) => ({ id: node.id, parent: -1 }))
  for (const { id, parent } of queue) {
    const node = byId.get(id)
    // Starting and stopping the recorder is no work of the request.
    if (node === undefined || node.callFrame.url.replace(/\.[jt]s(?:\?.*)?$/, '') === RECORDER) continue
    const { scriptId, lineNumber, columnNumber, functionName } = node.callFrame
    const key = `${scriptId} ${lineNumber} ${columnNumber} ${functionName}`
    const index = functions.get(key) ?? result.functions.push(functionOf(node.callFrame, mask)) - 1
    functions.set(key, index)
    indexes.set(id, result.nodes.push({ parent, function: index, self: 0, total: 0 }) - 1)
    for (const child of node.children ?? []) queue.push({ id: child, parent: result.nodes.length - 1 })
  }
  // A sample lasts until the next one; before the first one the recorder was starting.
  let at = startTime + (timeDeltas[0] ?? 0)
  for (const [i, id] of samples.entries()) {
    const next = i + 1 < samples.length ? at + Math.max(0, timeDeltas[i + 1] ?? 0) : Math.max(at, endTime)
    const sampled = result.nodes[indexes.get(id) ?? -1]
    if (sampled !== undefined) sampled.self += Math.round(next - at)
    at = next
  }
  for (const node of result.nodes.toReversed()) {
    node.total += node.self
    if (node.parent !== -1) (result.nodes[node.parent] as Node).total += node.total
  }
  return result
}

/** One call for each function below the same parent; calls with a total below `leftOut` are merged below theirs. */
function treeOf (samples: Samples, leftOut: number): Pick<CpuRecord, 'functions' | 'calls'> {
  const functions: CpuFunction[] = []
  const calls: CpuRecord['calls'] = { function: [], parent: [], self: [] }
  const functionIndexes = new Map<CpuFunction, number>()
  const callIndexes = new Map<string, number>()
  const callOf: number[] = []
  for (const node of samples.nodes) {
    const parent = node.parent === -1 ? -1 : callOf[node.parent] as number
    const isBelowLeftOut = parent !== -1 && functions[calls.function[parent] as number] === LEFT_OUT
    const isSmall = parent !== -1 && node.total < leftOut
    const one = isSmall ? LEFT_OUT : samples.functions[node.function] as CpuFunction
    let call = parent
    if (!isBelowLeftOut) {
      const index = functionIndexes.get(one) ?? functions.push(one) - 1
      functionIndexes.set(one, index)
      const key = `${parent} ${index}`
      call = callIndexes.get(key) ?? calls.self.push(0) - 1
      callIndexes.set(key, call)
      calls.function[call] = index
      calls.parent[call] = parent
    }
    calls.self[call] = (calls.self[call] as number) + node.self
    callOf.push(call)
  }
  return { functions, calls }
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
