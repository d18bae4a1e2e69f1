// The types of `require('fastify-hindsight/nest')`: CommonJS can import only the types of an ES module.
import type * as exported from './nest.js' with { 'resolution-mode': 'import' }

export type HindsightLogger = exported.HindsightLogger
export type HindsightModule = exported.HindsightModule

export declare const HindsightModule: typeof exported.HindsightModule
export declare const HindsightLogger: typeof exported.HindsightLogger
