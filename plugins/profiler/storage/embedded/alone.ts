import { closeSync, linkSync, lstatSync, openSync, renameSync, unlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Milliseconds after which who claimed a place is taken for dead: what is done there takes a few. */
const STALE = 5_000
const PAUSE = 10

/** Does what only one process may do at a place at a time. */
export async function alone<T> (place: string, work: () => T): Promise<T> {
  const claim = `${place}-begin`
  let seen: string | undefined
  let since = 0
  while (!isClaimed(claim)) {
    const found = identityOf(claim)
    if (found !== seen) {
      seen = found
      since = performance.now()
    }
    // By its own clock, too: a claim may be from a time that is yet to come.
    if (found !== undefined && (performance.now() - since > STALE || ageOf(claim) > STALE)) removeStale(claim, found)
    else await sleep(PAUSE)
  }
  const own = identityOf(claim)
  try {
    return work()
  } finally {
    // Who was asleep for too long has lost it to another.
    if (identityOf(claim) === own) removeIfThere(claim)
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

function identityOf (claim: string): string | undefined {
  const found = lstatSync(claim, { bigint: true, throwIfNoEntry: false })
  return found && `${found.ino}:${found.mtimeNs}`
}

function ageOf (claim: string): number {
  return Date.now() - (lstatSync(claim, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
}

// Of two that find the same stale claim the second one would remove the new claim of the first.
function removeStale (claim: string, found: string): void {
  const aside = `${claim}-${process.pid}`
  const [inode] = found.split(':')
  try {
    renameSync(claim, aside)
    if (String(lstatSync(aside, { bigint: true }).ino) !== inode) linkSync(aside, claim)
  } catch (error) {
    // Somebody else was faster; what the system does not allow would not get better by being tried again.
    if (!['ENOENT', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  } finally {
    removeIfThere(aside)
  }
}

// Node.js 24's `rmSync` leaves a symbolic link that points to nothing where it is, and says nothing of it.
function removeIfThere (path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}
