import { limits } from '../../src/inspection/inspect-calls.js'
import { inspection } from '../../src/inspection/inspection.js'
import { allowValues } from './children.js'

/** Lets the thread start, without limits of time: on a busy machine a pause takes longer. */
export function allowInspection (): void {
  Object.assign(limits, { reads: Infinity, burst: Infinity, time: Infinity })
  allowValues()
}

/** Whether the thread has started, which keeps no process alive. */
export async function hasInspection (): Promise<boolean> {
  const alive = setInterval(() => {}, 1_000)
  try {
    return await inspection.ready
  } finally {
    clearInterval(alive)
  }
}
