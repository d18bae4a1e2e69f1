import { closeSync, openSync, rmSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Milliseconds after which who claimed a place is taken for dead: what is done there takes a few. */
const STALE = 5_000
const PAUSE = 10

/** Does what only one process may do at a place at a time. */
export async function alone<T> (place: string, work: () => T): Promise<T> {
  const claim = `${place}-begin`
  while (!isClaimed(claim)) {
    const since = statSync(claim, { throwIfNoEntry: false })?.mtimeMs
    if (since !== undefined && Date.now() - since > STALE) rmSync(claim, { force: true })
    else await sleep(PAUSE)
  }
  try {
    return work()
  } finally {
    rmSync(claim, { force: true })
  }
}

function isClaimed (claim: string): boolean {
  try {
    closeSync(openSync(claim, 'wx', 0o600))
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}
