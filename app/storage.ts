/** What a store of an application needs: the interface, what searches compare, and the shortest of the engines. */
export type { Profile } from '../plugins/profiler/profile.js'
export type { Criteria } from '../plugins/profiler/storage/criteria.js'
export type { ProfilePage, ProfileStorage, SearchOptions, StorageBounds, StorageStats } from '../plugins/profiler/storage/storage.js'
export type { IndexEntry, ProfileRecord, ProfileSummary } from '../plugins/profiler/summary.js'
export { matcher } from '../plugins/profiler/storage/criteria.js'
export { MemoryStorage } from '../plugins/profiler/storage/memory.js'
export { InvalidCursorError, TooManyPinnedError } from '../plugins/profiler/storage/storage.js'
export { recordOf, summarize } from '../plugins/profiler/summary.js'
