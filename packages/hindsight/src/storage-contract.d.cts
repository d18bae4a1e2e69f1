// The types of `require('fastify-hindsight/storage-contract')`.
import type * as esm from './storage-contract.js' with { 'resolution-mode': 'import' }

export type * from './storage-contract.js' with { 'resolution-mode': 'import' }

export declare const storageContract: typeof esm.storageContract
