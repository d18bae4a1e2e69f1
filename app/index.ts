/** What an application imports: the plugin, its options, and its extensions. */
export { hindsight, hindsight as default } from './hindsight.js'
export type { HindsightOptions, RouteAttributes } from '../lib/options.js'
export type { RequestHindsight } from './begin.js'
export { AccessDeniedError, AuthenticationError } from '../lib/full/security/errors.js'
export { checkCsrfToken, csrfToken } from '../lib/full/security/login-session.js'
export { hashPassword, type StoredUser, type User } from '../lib/full/security/users.js'
export { hindsightSpanProcessor, type HindsightSpanProcessor } from '../lib/parts/spans/span-processor.js'
export { html } from '../lib/view/text.js'
export type { Authenticator } from '../lib/full/security/authenticators.js'
export type { Voter } from '../lib/full/security/voters.js'
export type { ConvertedParams } from '../lib/full/attributes.js'
export type { Collector, CollectorPanel } from '../lib/parts/part.js'
export type { Profile } from '../lib/store/profile.js'

// The types of `app.hindsight`.
export type {} from '../lib/lifecycle/state.js'
export type {} from '../lib/store/profiler.js'
