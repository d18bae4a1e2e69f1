import type { Profiler } from 'node:inspector'
import { LEFT_OUT, type CpuFunction, type CpuRecord } from './cpu-record.js'
import { functionOf } from './places.js'

/** What a recording is told with, beside its samples. */
export type CpuFacts = Pick<CpuRecord, 'interval' | 'startup' | 'others' | 'end'>

interface Tree {
  functions: CpuFunction[]
  calls: CpuRecord['calls']
  timeline: CpuRecord['timeline']
}

const RECORDER = new URL('./recording', import.meta.url).href
const MAX_STEPS = 8_000
/** Functions with long names may be those that stay. */
const SAFE = 0.7

/** Makes the record of a recording, in at most so many bytes of JSON: what is too small to matter is put together, and said. */
export function aggregate (profile: Profiler.Profile, facts: CpuFacts, maxBytes: number, mask: (text: string) => string): CpuRecord {
  const whole = treeOf(profile, mask)
  const duration = whole.timeline.time.reduce((sum, time) => sum + time, 0)
  const told = { ...facts, duration: Math.round(duration) / 1000, samples: profile.samples?.length ?? 0 }
  let leftOut = 0
  let steps = MAX_STEPS
  for (;;) {
    const pruned = leftOut === 0 ? whole : prune(whole, leftOut)
    const step = pruned.timeline.call.length > steps ? Math.ceil(duration / steps) : 0
    const record: CpuRecord = {
      ...told,
      ...(leftOut > 0 && { leftOut }),
      ...(step > 0 && { step }),
      ...pruned,
      timeline: step > 0 ? thin(pruned.timeline, step) : pruned.timeline
    }
    const part = maxBytes / JSON.stringify(record).length
    // With one call and one step there is nothing left to put together.
    if (part >= 1 || leftOut > duration) return record
    leftOut = Math.max(leftOut * 2, leastOf(pruned.calls, part * SAFE))
    steps = Math.max(1, Math.ceil(Math.min(steps, pruned.timeline.call.length) * part * SAFE))
  }
}

/** Microseconds: what a part of all calls took at least. */
function leastOf (calls: CpuRecord['calls'], part: number): number {
  const totals = totalsOf(calls).sort((a, b) => b - a)
  return Math.max(1, (totals[Math.floor(totals.length * part)] ?? 0) + 1)
}

// One call for all of the same function below the same parent, in an order in which parents come first.
function treeOf ({ nodes, samples = [], timeDeltas = [], startTime, endTime }: Profiler.Profile, mask: (text: string) => string): Tree {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const builder = new TreeBuilder()
  const callOf = new Map<number, number>()
  const root = nodes[0]
  const waiting: Array<[id: number, parent: number]> = root === undefined ? [] : [[root.id, -1]]
  for (let i = 0; i < waiting.length; i++) {
    const [id, parent] = waiting[i] as [number, number]
    const node = byId.get(id)
    if (node === undefined || isRecorder(node.callFrame.url)) continue
    const { scriptId, lineNumber, columnNumber, functionName } = node.callFrame
    const call = builder.call(parent, builder.function(`${scriptId} ${lineNumber} ${columnNumber} ${functionName}`, () => functionOf(node.callFrame, mask)))
    callOf.set(id, call)
    for (const child of node.children ?? []) waiting.push([child, call])
  }
  // A sample lasts until the next one; ahead of the first one the recorder itself was at work.
  let at = startTime + (timeDeltas[0] ?? 0)
  for (let i = 0; i < samples.length; i++) {
    const next = i + 1 < samples.length ? at + Math.max(0, timeDeltas[i + 1] ?? 0) : Math.max(at, endTime)
    const call = callOf.get(samples[i] as number)
    if (call !== undefined) builder.spend(call, Math.round(next - at))
    at = next
  }
  return builder.tree
}

// What starting and stopping took is nothing that the request did.
function isRecorder (url: string): boolean {
  return url.replace(/\.[jt]s(?:\?.*)?$/, '') === RECORDER
}

/** Puts calls together that took less than `least` with all that they called: one for each parent. */
function prune ({ functions, calls, timeline }: Tree, least: number): Tree {
  const totals = totalsOf(calls)
  const builder = new TreeBuilder()
  const callOf: number[] = []
  const isLeftOut: boolean[] = []
  calls.parent.forEach((parent, i) => {
    const above = parent === -1 ? -1 : callOf[parent] as number
    if (parent !== -1 && isLeftOut[parent] === true) {
      callOf[i] = above
      isLeftOut[i] = true
      return
    }
    isLeftOut[i] = parent !== -1 && (totals[i] as number) < least
    const index = calls.function[i] as number
    callOf[i] = builder.call(above, isLeftOut[i] === true
      ? builder.function(LEFT_OUT, () => ({ name: LEFT_OUT, file: '', line: 0, column: 0, kind: 'engine' }))
      : builder.function(String(index), () => functions[index] as CpuFunction))
  })
  timeline.call.forEach((call, i) => builder.spend(callOf[call] as number, timeline.time[i] as number))
  return builder.tree
}

/** In each step of the timeline only what was longest at work; what the calls took in all is told by themselves. */
function thin ({ call, time }: CpuRecord['timeline'], step: number): CpuRecord['timeline'] {
  const thinned: CpuRecord['timeline'] = { call: [], time: [] }
  let spent = new Map<number, number>()
  let sum = 0
  const close = (): void => {
    const [longest] = [...spent].reduce((most, one) => one[1] > most[1] ? one : most)
    append(thinned, longest, sum)
    spent = new Map()
    sum = 0
  }
  call.forEach((index, i) => {
    const duration = time[i] as number
    spent.set(index, (spent.get(index) ?? 0) + duration)
    sum += duration
    if (sum >= step) close()
  })
  if (spent.size > 0) close()
  return thinned
}

/** What each call took with all that it called. */
export function totalsOf ({ parent, self }: CpuRecord['calls']): number[] {
  const totals = [...self]
  for (let i = totals.length - 1; i > 0; i--) {
    const above = parent[i] as number
    totals[above] = (totals[above] as number) + (totals[i] as number)
  }
  return totals
}

class TreeBuilder {
  readonly tree: Tree = { functions: [], calls: { function: [], parent: [], self: [] }, timeline: { call: [], time: [] } }
  readonly #functions = new Map<string, number>()
  readonly #calls = new Map<string, number>()

  function (key: string, make: () => CpuFunction): number {
    const known = this.#functions.get(key)
    if (known !== undefined) return known
    this.#functions.set(key, this.tree.functions.length)
    return this.tree.functions.push(make()) - 1
  }

  call (parent: number, index: number): number {
    const key = `${parent} ${index}`
    const known = this.#calls.get(key)
    if (known !== undefined) return known
    const { calls } = this.tree
    calls.function.push(index)
    calls.parent.push(parent)
    this.#calls.set(key, calls.self.length)
    return calls.self.push(0) - 1
  }

  spend (call: number, time: number): void {
    const { calls: { self }, timeline } = this.tree
    self[call] = (self[call] as number) + time
    append(timeline, call, time)
  }
}

function append (timeline: CpuRecord['timeline'], call: number, time: number): void {
  const last = timeline.call.length - 1
  if (timeline.call[last] === call) timeline.time[last] = (timeline.time[last] as number) + time
  else if (time > 0) {
    timeline.call.push(call)
    timeline.time.push(time)
  }
}
