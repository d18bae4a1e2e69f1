// The types of `require('fastify-hindsight/nest')`.
import type * as esm from './nest.js' with { 'resolution-mode': 'import' }

export declare const HindsightLogger: typeof esm.HindsightLogger
export type HindsightLogger = esm.HindsightLogger
export declare const HindsightModule: typeof esm.HindsightModule
export type HindsightModule = esm.HindsightModule
