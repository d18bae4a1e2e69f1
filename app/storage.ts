/** The entry point for stores of applications: the interface, the comparison of searches, and an example. */
export type { Profile } from '../lib/profiler/profile.js'
export type { Criteria } from '../lib/profiler/storage/criteria.js'
export type {
  ProfilePage, ProfileStorage, SearchOptions, Sort, StorageBounds, StorageStats
} from '../lib/profiler/storage/storage.js'
export type { ProfileSummary } from '../lib/profiler/profile.js'
export type { IndexEntry, ProfileRecord } from '../lib/profiler/summary.js'
export { matcher } from '../lib/profiler/storage/criteria.js'
export { MemoryStorage } from '../lib/profiler/storage/memory.js'
export { InvalidCursorError, TooManyPinnedError } from '../lib/profiler/storage/storage.js'
export { recordOf, summarize } from '../lib/profiler/summary.js'
