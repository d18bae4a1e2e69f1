import { closest } from 'fastest-levenshtein'
import { lifecycle } from './lifecycle.js'

/** The listeners that all others stand on: without them nothing is known of a request. */
const ESSENTIAL: ReadonlySet<string> = new Set(['debug-handlers', 'router', 'router-data-collector', 'request-data-collector', 'error', 'profiler', 'error-csp-removal'])

/** The listeners that can be left to the application, in their order. */
export const LEAVABLE: readonly string[] = [...new Set(Object.values(lifecycle).flat().map(({ listener }) => listener))].filter((name) => !ESSENTIAL.has(name))

/** Stops the start at a name that cannot be left to the application. */
export function checkLeave (names: readonly string[] = []): void {
  for (const [i, name] of names.entries()) {
    if (LEAVABLE.includes(name)) continue
    if (ESSENTIAL.has(name)) throw new Error(`Option "leave[${i}]": "${name}" cannot be left to the application, as the other listeners need it`)
    throw new Error(`Option "leave[${i}]": "${name}" is no listener; did you mean "${closest(name, [...LEAVABLE])}"?`)
  }
}
