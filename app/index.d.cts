// What `require` gives, for compilers that let CommonJS have no more of an ES module than its types (`module: node16`).
import type * as exported from './index.js' with { 'resolution-mode': 'import' }

export type * from './index.js' with { 'resolution-mode': 'import' }
export type AccessDeniedError = exported.AccessDeniedError
export type AuthenticationError = exported.AuthenticationError

export declare const hindsight: typeof exported.hindsight
export default hindsight
export declare const boundConnections: typeof exported.boundConnections
export declare const httpsServerOptions: typeof exported.httpsServerOptions
export declare const serverOptions: typeof exported.serverOptions
export declare const messageOptions: typeof exported.messageOptions
export declare const AccessDeniedError: typeof exported.AccessDeniedError
export declare const AuthenticationError: typeof exported.AuthenticationError
export declare const checkCsrfToken: typeof exported.checkCsrfToken
export declare const csrfToken: typeof exported.csrfToken
export declare const hashPassword: typeof exported.hashPassword
export declare const hindsightSpanProcessor: typeof exported.hindsightSpanProcessor
export declare const html: typeof exported.html
