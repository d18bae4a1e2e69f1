import type { KernelOptions } from '../plugins/kernel/services.js'
import type { ClickjackingOptions } from '../plugins/listeners/clickjacking.js'
import type { ContentSecurityPolicyOptions } from '../plugins/listeners/content-security-policy.js'
import type { CorsOptions } from '../plugins/listeners/cors.js'
import type { DebugHandlersOptions } from '../plugins/listeners/debug-handlers.js'
import type { DefaultLocaleOptions } from '../plugins/listeners/default-locale.js'
import type { ReferrerPolicyOptions } from '../plugins/listeners/referrer-policy.js'
import type { RobotsOptions } from '../plugins/listeners/robots.js'
import type { SessionOptions } from '../plugins/listeners/session.js'
import type { XssProtectionOptions } from '../plugins/listeners/xss-protection.js'
import type { SecurityOptions } from '../plugins/security/security.js'

/** Every option of the lifecycle; each listener documents its own. */
export interface HindsightOptions extends KernelOptions,
  ClickjackingOptions, ContentSecurityPolicyOptions, CorsOptions, DebugHandlersOptions, DefaultLocaleOptions,
  ReferrerPolicyOptions, RobotsOptions, SessionOptions, XssProtectionOptions, Pick<SecurityOptions, 'security'> {
  /** How many profiles are kept in memory, at most. */
  maxProfiles?: number
}

const KNOWN: ReadonlySet<string> = new Set<keyof HindsightOptions>([
  'clickjacking', 'contentSecurityPolicy', 'cors', 'debug', 'debugClients', 'debugHosts', 'defaultLocale', 'mask', 'maxProfiles',
  'noIndex', 'referrerPolicy', 'security', 'session', 'stackDepth', 'trustedHosts', 'trustedProxies', 'xssProtection'
])

/** Stops the start at an option that nobody knows, by its name. */
export function assertKnown (options: object): void {
  for (const name of Object.keys(options)) {
    if (!KNOWN.has(name)) throw new Error(`Unknown option "${name}" of hindsight; known are ${[...KNOWN].join(', ')}`)
  }
}
