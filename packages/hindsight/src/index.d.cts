// The types of `require('fastify-hindsight')`: CommonJS can import only the types of an ES module.
import type * as esm from './index.js' with { 'resolution-mode': 'import' }

declare const hindsight: typeof esm.hindsight & typeof esm

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
  export type StoredUser = esm.StoredUser
  export type User = esm.User
  export type Voter = esm.Voter
}

export = hindsight
