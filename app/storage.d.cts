// The types of `require('fastify-hindsight/storage')`: CommonJS can import only the types of an ES module.
import type * as esm from './storage.js' with { 'resolution-mode': 'import' }

export type * from './storage.js' with { 'resolution-mode': 'import' }
export type MemoryStorage = esm.MemoryStorage

export declare const InvalidCursorError: typeof esm.InvalidCursorError
export declare const matcher: typeof esm.matcher
export declare const MemoryStorage: typeof esm.MemoryStorage
export declare const recordOf: typeof esm.recordOf
export declare const summarize: typeof esm.summarize
export declare const TooManyPinnedError: typeof esm.TooManyPinnedError
