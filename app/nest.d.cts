// What `require` gives, for compilers that let CommonJS have no more of an ES module than its types (`module: node16`).
import type * as exported from './nest.js' with { 'resolution-mode': 'import' }

export type HindsightModule = exported.HindsightModule

export declare const HindsightModule: typeof exported.HindsightModule
export declare const hindsightLogger: typeof exported.hindsightLogger
