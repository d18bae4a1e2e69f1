import type { DebugAccessOptions } from '../lib/http/debug-access.js'
import type { OriginOptions } from '../lib/http/origin.js'
import type { KernelOptions } from '../lib/lifecycle/services.js'
import type { MaskOptions } from '../lib/mask/mask.js'
import type { AssetOptions } from '../plugins/asset-reset.js'
import type { ClickjackingOptions } from '../plugins/clickjacking.js'
import type { ContentSecurityPolicyOptions } from '../plugins/content-security-policy.js'
import type { CorsOptions } from '../plugins/cors.js'
import type { DebugHandlersOptions } from '../plugins/debug-handlers.js'
import type { DebugToolbarOptions } from '../plugins/debug-toolbar.js'
import type { DefaultLocaleOptions } from '../plugins/default-locale.js'
import type {} from '../plugins/link-header.js'
import type { LocaleAwareServicesOptions } from '../plugins/locale-aware-services.js'
import type { LocaleOptions } from '../plugins/locale.js'
import type { PaginationOptions } from '../plugins/pagination.js'
import type { ParamConverterOptions } from '../plugins/param-converter.js'
import type { ProfilerListenerOptions } from '../plugins/profiler.js'
import type { ReferrerPolicyOptions } from '../plugins/referrer-policy.js'
import type { ResponseOptions } from '../plugins/response.js'
import type { RobotsOptions } from '../plugins/robots.js'
import type { SessionOptions } from '../plugins/session.js'
import type { TemplateOptions } from '../plugins/template.js'
import type { XssProtectionOptions } from '../plugins/xss-protection.js'
import type { SecurityOptions } from '../lib/security/security.js'
import type { EditorOptions } from '../lib/view/editor.js'
import type { HealthOptions } from './health.js'

/** The options of the plugin; each listener documents its own. */
export interface HindsightOptions extends KernelOptions, DebugAccessOptions, EditorOptions, MaskOptions, OriginOptions,
  AssetOptions, ClickjackingOptions, ContentSecurityPolicyOptions, CorsOptions, DebugHandlersOptions,
  DebugToolbarOptions, DefaultLocaleOptions, HealthOptions, LocaleOptions,
  LocaleAwareServicesOptions, PaginationOptions, ParamConverterOptions, ProfilerListenerOptions,
  ReferrerPolicyOptions, ResponseOptions, RobotsOptions, Pick<SecurityOptions, 'security'>, SessionOptions,
  TemplateOptions, XssProtectionOptions {}
