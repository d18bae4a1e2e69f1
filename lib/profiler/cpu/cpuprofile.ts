import { pathToFileURL } from 'node:url'
import { isAbsolute } from 'node:path'
import type { CpuFunction, CpuRecord } from './cpu-record.js'

/** The record as the file that Chrome DevTools and VS Code open (Chrome DevTools Protocol, Profiler.Profile). */
export function cpuProfileOf ({ functions, calls, timeline, interval }: CpuRecord): object {
  const children = calls.parent.map((): number[] => [])
  calls.parent.forEach((parent, i) => { if (parent !== -1) children[parent]?.push(i + 1) })
  const endTime = timeline.time.reduce((sum, time) => sum + time, 0)
  return {
    nodes: calls.function.map((index, i) => ({
      id: i + 1,
      callFrame: callFrame(functions[index] as CpuFunction, index),
      hitCount: Math.round((calls.self[i] as number) / Math.max(1, interval)),
      ...(children[i]?.length !== 0 && { children: children[i] })
    })),
    startTime: 0,
    endTime,
    // A delta is the time since the sample before.
    samples: timeline.call.map((call) => call + 1),
    timeDeltas: timeline.time.map((_, i) => i === 0 ? 0 : timeline.time[i - 1])
  }
}

function callFrame ({ name, file, line, column }: CpuFunction, index: number): object {
  return {
    functionName: name === '(anonymous)' ? '' : name,
    scriptId: String(index),
    url: isAbsolute(file) ? pathToFileURL(file).href : file,
    lineNumber: line - 1,
    columnNumber: column - 1
  }
}
