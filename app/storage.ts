/** The entry point for stores of applications: the interface, the comparison of searches, and an example. */
export type { Profile } from '../lib/store/profile.js'
export type { Criteria } from '../lib/store/criteria.js'
export type {
  ProfilePage, ProfileStorage, SearchOptions, Sort, StorageBounds, StorageStats
} from '../lib/store/storage.js'
export type { ProfileSummary } from '../lib/store/profile.js'
export type { IndexEntry, ProfileRecord } from '../lib/store/summary.js'
export { matcher } from '../lib/store/criteria.js'
export { MemoryStorage } from '../lib/store/memory.js'
export { InvalidCursorError, TooManyPinnedError } from '../lib/store/storage.js'
export { recordOf, summarize } from '../lib/store/summary.js'
