import createError from '@fastify/error'
import { originalPlace, toPath } from '../errors/source-map.js'
import { isAppFile } from '../errors/stack-frame.js'
import { inspection, type CompiledFunction } from './inspection.js'

/** A function of the application; `first` and `last` are its lines. */
export interface RanFunction { name: string, file: string, first: number, last: number }

interface Compared<T> { ran: [T, T], only: [RanFunction[], RanFunction[]] }

const BusyError = createError('HINDSIGHT_COVERAGE_BUSY',
  'The functions of two other requests are being compared: try again when that has ended.', 409)
let isBusy = false

/**
 * Runs two requests one after the other; returns their results, and the functions of the application that only the
 * first and only the second one ran. What other requests run meanwhile is among them.
 */
export async function compareFunctions<T> (first: () => Promise<T>, second: () => Promise<T>): Promise<Compared<T>> {
  if (isBusy) throw new BusyError()
  isBusy = true
  try {
    await inspection.cover('begin')
    const before = await first()
    await inspection.cover('first')
    const after = await second()
    const [ofFirst = [], ofSecond = []] = await inspection.cover('end')
    return { ran: [before, after], only: [functionsOf(ofFirst), functionsOf(ofSecond)] }
  } catch (error) {
    // Otherwise it would be recorded for ever.
    await inspection.cover('end').catch(() => {})
    throw error
  } finally {
    isBusy = false
  }
}

/** Those of the application, in the order of their files. */
function functionsOf (compiled: readonly CompiledFunction[]): RanFunction[] {
  return compiled.map(({ url, name, first, last }) => {
    const [start, end] = [first, last].map(({ line, column }) =>
      originalPlace(url, line, column) ?? { file: toPath(url), line: line + 1 }) as [OriginalLine, OriginalLine]
    return { name: name || '(anonymous)', file: start.file, first: start.line, last: Math.max(start.line, end.line) }
  }).filter(({ file }) => isAppFile(file)).sort((a, b) => a.file.localeCompare(b.file) || a.first - b.first)
}

interface OriginalLine { file: string, line: number }
