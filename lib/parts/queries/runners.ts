import { cachedByObject } from '../../call.js'
import type { Run } from '../../queries/run.js'

/** Profiles whose queries can be explained: the newest ones of this process. */
const MAX_PROFILES = 500

/** Weak: a client that the application has released can be collected. */
const runners = new Map<string, ReadonlyArray<WeakRef<Run> | undefined>>()

const referenceTo = cachedByObject((run: Run) => new WeakRef(run))

/** Keeps what runs statements on the clients of the queries of a profile, in their order. */
export function keepRunners (token: string, runs: ReadonlyArray<Run | undefined>): void {
  if (runs.every((run) => run === undefined)) return
  runners.set(token, runs.map((run) => run && referenceTo(run)))
  const [oldest = ''] = runners.keys()
  if (runners.size > MAX_PROFILES) runners.delete(oldest)
}

/** Runs statements on the client of a query; undefined where it is gone, or is of another process. */
export function runnerOf (token: string, index: number): Run | undefined {
  return runners.get(token)?.[index]?.deref()
}
