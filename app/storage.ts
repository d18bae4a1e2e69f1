/** What a store of profiles of one's own is made of: the interface, what searches need, and the shortest of those that are there. */
export type { Profile, ProfileDraft } from '../plugins/profiler/profile.js'
export type { Criteria } from '../plugins/profiler/storage/criteria.js'
export type { ProfileBatch, ProfilePage, ProfileStorage, SearchOptions, StorageBounds, StorageStats } from '../plugins/profiler/storage/storage.js'
export type { IndexEntry, ProfileSummary } from '../plugins/profiler/storage/summary.js'
export { matcher } from '../plugins/profiler/storage/criteria.js'
export { MemoryStorage } from '../plugins/profiler/storage/memory.js'
export { InvalidCursorError, TooManyPinnedError } from '../plugins/profiler/storage/storage.js'
export { indexEntry, summarize } from '../plugins/profiler/storage/summary.js'
