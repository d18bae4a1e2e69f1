import type { KernelOptions } from '../plugins/kernel/services.js'
import type { AssetOptions } from '../plugins/listeners/asset-reset.js'
import type { ClickjackingOptions } from '../plugins/listeners/clickjacking.js'
import type { ContentSecurityPolicyOptions } from '../plugins/listeners/content-security-policy.js'
import type { CorsOptions } from '../plugins/listeners/cors.js'
import type { DebugHandlersOptions } from '../plugins/listeners/debug-handlers.js'
import type { DebugToolbarOptions } from '../plugins/listeners/debug-toolbar.js'
import type { DefaultLocaleOptions } from '../plugins/listeners/default-locale.js'
import type { LinkHeaderOptions } from '../plugins/listeners/link-header.js'
import type { LocaleAwareServicesOptions } from '../plugins/listeners/locale-aware-services.js'
import type { LocaleOptions } from '../plugins/listeners/locale.js'
import type { PaginationOptions } from '../plugins/listeners/pagination.js'
import type { ParamConverterOptions } from '../plugins/listeners/param-converter.js'
import type { ProfilerListenerOptions } from '../plugins/listeners/profiler.js'
import type { ReferrerPolicyOptions } from '../plugins/listeners/referrer-policy.js'
import type { ResponseOptions } from '../plugins/listeners/response.js'
import type { RobotsOptions } from '../plugins/listeners/robots.js'
import type { SessionOptions } from '../plugins/listeners/session.js'
import type { TemplateOptions } from '../plugins/listeners/template.js'
import type { XssProtectionOptions } from '../plugins/listeners/xss-protection.js'
import type { SecurityOptions } from '../plugins/security/security.js'
import type { HealthOptions } from './health.js'

/** Every option of the lifecycle; each listener documents its own. */
export interface HindsightOptions extends KernelOptions,
  AssetOptions, ClickjackingOptions, ContentSecurityPolicyOptions, CorsOptions, DebugHandlersOptions, DebugToolbarOptions,
  DefaultLocaleOptions, HealthOptions, LinkHeaderOptions, LocaleOptions, LocaleAwareServicesOptions, PaginationOptions, ParamConverterOptions,
  ProfilerListenerOptions, ReferrerPolicyOptions, ResponseOptions, RobotsOptions, Pick<SecurityOptions, 'security'>, SessionOptions, TemplateOptions,
  XssProtectionOptions {}
