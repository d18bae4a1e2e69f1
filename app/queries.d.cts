// The types of `require('fastify-hindsight/queries')`: CommonJS can import only the types of an ES module.
import type * as esm from './queries.js' with { 'resolution-mode': 'import' }

export type * from './queries.js' with { 'resolution-mode': 'import' }

export declare const observe: typeof esm.observe
export declare const recordQuery: typeof esm.recordQuery
