/** The entry point for stores of applications: the interface, the comparison of searches, and an example. */
export type { Profile } from './store/profile.js'
export type { Criteria } from './store/criteria.js'
export type {
  ProfilePage, ProfileStorage, SearchOptions, Sort, StorageBounds, StorageStats
} from './store/storage.js'
export type { ProfileSummary } from './store/profile.js'
export type { IndexEntry, ProfileRecord } from './store/summary.js'
export { criteriaMatcher as matcher } from './store/criteria.js'
export { MemoryStorage } from './store/memory.js'
export { InvalidCursorError, TooManyPinnedError } from './store/storage.js'
export { recordOf, summarizeProfile as summarize } from './store/summary.js'
