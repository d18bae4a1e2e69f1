import type { Criteria } from './criteria.js'
import { isJob, type ProfileSummary } from './profile.js'
import type { Profiler } from './profiler.js'

/** Failures that are read, and groups that are returned. */
const MAX_FAILURES = 2_000
const MAX_GROUPS = 100
const MAX_REVISIONS = 3

/** Failures with one fingerprint. */
export interface FailureGroup {
  /** Undefined where a profile has none: then it is alone. */
  failure?: string
  count: number
  first: ProfileSummary
  last: ProfileSummary
  routes: string[]
  /** The newest first. */
  revisions: string[]
}

export interface FailureGroups {
  /** Those of jobs, or with a status of 500 or more, first; then the one with the newest failure first. */
  groups: FailureGroup[]
  /** How many groups there are of the failures that were read. */
  all: number
  failures: number
  /** Whether there are older failures. */
  isBounded: boolean
}

/** The newest failures that match, in groups. */
export async function failureGroups (profiler: Profiler, criteria: Criteria): Promise<FailureGroups> {
  const wanted = { criteria: { ...criteria, error: true }, limit: MAX_FAILURES }
  const { profiles, next } = await profiler.search(wanted)
  const groups = new Map<string, FailureGroup>()
  for (const profile of profiles) {
    const { token, method, url, route, values: { failure, revision } = {} } = profile
    const key = failure ?? token
    const group = groups.get(key) ??
      { ...failure !== undefined && { failure }, count: 0, first: profile, last: profile, routes: [], revisions: [] }
    group.count++
    group.first = profile
    const name = route ?? (isJob(profile) ? `${method} ${url}` : `${method} without a route`)
    if (!group.routes.includes(name)) group.routes.push(name)
    const isNew = revision !== undefined && !group.revisions.includes(revision)
    if (isNew && group.revisions.length < MAX_REVISIONS) group.revisions.push(revision)
    groups.set(key, group)
  }
  const all = [...groups.values()]
  const isOfServer = ({ last }: FailureGroup): number => Number(last.status >= 500 || isJob(last))
  all.sort((a, b) => isOfServer(b) - isOfServer(a))
  return { groups: all.slice(0, MAX_GROUPS), all: all.length, failures: profiles.length, isBounded: next !== null }
}
