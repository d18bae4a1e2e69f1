// The types of `require('fastify-hindsight')`: CommonJS can import only the types of an ES module.
import type { FastifyInstance } from 'fastify'
import type * as esm from './index.js' with { 'resolution-mode': 'import' }

declare function hindsight (app: FastifyInstance, options: esm.HindsightOptions): Promise<void>

declare namespace hindsight {
  export type AccessDeniedError = esm.AccessDeniedError
  export type AuthenticationError = esm.AuthenticationError
  export type Authenticator = esm.Authenticator
  export type Collector<T = any> = esm.Collector<T>
  export type CollectorPanel<T = any> = esm.CollectorPanel<T>
  export type ConvertedParams<Config extends { readonly params: NonNullable<esm.RouteAttributes['params']> }> =
    esm.ConvertedParams<Config>
  export type HindsightOptions = esm.HindsightOptions
  export type HindsightSpanProcessor = esm.HindsightSpanProcessor
  export type Profile = esm.Profile
  export type RequestHindsight = esm.RequestHindsight
  export type RouteAttributes = esm.RouteAttributes
  export type ServerLimits = esm.ServerLimits
  export type StoredUser = esm.StoredUser
  export type User = esm.User
  export type Voter = esm.Voter

  export const AccessDeniedError: typeof esm.AccessDeniedError
  export const AuthenticationError: typeof esm.AuthenticationError
  export const boundConnections: typeof esm.boundConnections
  export const checkCsrfToken: typeof esm.checkCsrfToken
  export const csrfToken: typeof esm.csrfToken
  export const hashPassword: typeof esm.hashPassword
  export const hindsightSpanProcessor: typeof esm.hindsightSpanProcessor
  export const html: typeof esm.html
  export const httpsServerOptions: typeof esm.httpsServerOptions
  export const messageOptions: typeof esm.messageOptions
  export const serverOptions: typeof esm.serverOptions
  export { hindsight, hindsight as default }
}

export = hindsight
