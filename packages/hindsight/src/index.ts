/** What an application imports: the plugin, its options, and its extensions. */
export { hindsight, hindsight as default } from './hindsight.js'
export type { HindsightOptions } from './options.js'
export { profile } from './profile-job.js'
export type { JobOptions } from './recording/trace.js'
export type { RequestHindsight } from './begin.js'
export { hindsightSpanProcessor, type HindsightSpanProcessor } from './parts/spans/span-processor.js'
export { html, SafeHtml, type HtmlValue } from './view/text.js'
export type { Collector, CollectorPanel } from './parts/part.js'
export type { Profile } from './store/profile.js'

// The types of `app.hindsight`.
export type {} from './recording/trace.js'
export type {} from './store/profiler.js'
