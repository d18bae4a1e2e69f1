// The types of `require('fastify-hindsight/server-options')`: CommonJS can import only the types of an ES module.
import type * as esm from './server-options.js' with { 'resolution-mode': 'import' }

export type ServerSettings = esm.ServerSettings

export declare const boundConnections: typeof esm.boundConnections
export declare const httpsServerOptions: typeof esm.httpsServerOptions
export declare const messageOptions: typeof esm.messageOptions
export declare const serverOptions: typeof esm.serverOptions
