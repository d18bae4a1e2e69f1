// The types of `require('fastify-hindsight')`: CommonJS can import only the types of an ES module.
import type * as esm from './index.js' with { 'resolution-mode': 'import' }

declare const hindsight: typeof esm.hindsight & typeof esm

declare namespace hindsight {
  export type Collector<T = any> = esm.Collector<T>
  export type CollectorPanel<T = any> = esm.CollectorPanel<T>
  export type HtmlValue = esm.HtmlValue
  export type SafeHtml = esm.SafeHtml
  export type HindsightOptions = esm.HindsightOptions
  export type HindsightSpanProcessor = esm.HindsightSpanProcessor
  export type Profile = esm.Profile
  export type RequestHindsight = esm.RequestHindsight
}

export = hindsight
