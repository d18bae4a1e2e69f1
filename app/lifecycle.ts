import type { Stage } from '../plugins/kernel/stage.js'
import type { Listener } from '../plugins/kernel/listener.js'
import type { HindsightOptions } from './options.js'
import { assetReset } from '../plugins/listeners/asset-reset.js'
import { clickjacking } from '../plugins/listeners/clickjacking.js'
import { contentSecurityPolicy, contentSecurityPolicyResponse } from '../plugins/listeners/content-security-policy.js'
import { contentType } from '../plugins/listeners/content-type.js'
import { controllerAttributes } from '../plugins/listeners/controller-attributes.js'
import { cors, corsResponse } from '../plugins/listeners/cors.js'
import { corsVary } from '../plugins/listeners/cors-vary.js'
import { debugHandlers } from '../plugins/listeners/debug-handlers.js'
import { debugToolbar } from '../plugins/listeners/debug-toolbar.js'
import { defaultLocale } from '../plugins/listeners/default-locale.js'
import { error } from '../plugins/listeners/error.js'
import { errorCspRemoval } from '../plugins/listeners/error-csp-removal.js'
import { firewall, firewallFinish } from '../plugins/listeners/firewall.js'
import { httpCache, httpCacheResponse } from '../plugins/listeners/http-cache.js'
import { isGranted } from '../plugins/listeners/is-granted.js'
import { linkHeader } from '../plugins/listeners/link-header.js'
import { locale, localeFinish } from '../plugins/listeners/locale.js'
import { localeAwareServices, localeAwareServicesFinish } from '../plugins/listeners/locale-aware-services.js'
import { logoutUrl } from '../plugins/listeners/logout-url.js'
import { pagination } from '../plugins/listeners/pagination.js'
import { paramConverter } from '../plugins/listeners/param-converter.js'
import { profiler } from '../plugins/listeners/profiler.js'
import { referrerPolicy } from '../plugins/listeners/referrer-policy.js'
import { requestDataCollector, requestDataCollectorResponse } from '../plugins/listeners/request-data-collector.js'
import { requestValidation } from '../plugins/listeners/request-validation.js'
import { response } from '../plugins/listeners/response.js'
import { robots } from '../plugins/listeners/robots.js'
import { router, routerFinish } from '../plugins/listeners/router.js'
import { routerDataCollector } from '../plugins/listeners/router-data-collector.js'
import { securityExpression } from '../plugins/listeners/security-expression.js'
import { session, sessionResponse } from '../plugins/listeners/session.js'
import { template } from '../plugins/listeners/template.js'
import { xssProtection } from '../plugins/listeners/xss-protection.js'

type Order = { readonly [S in Stage]: ReadonlyArray<Listener<S, HindsightOptions>> }

/** THE ORDER: the listeners of each stage, as section 6 of the observed document has them. */
export const lifecycle = {
  'kernel.request': [
    debugHandlers, // first, so that all that follows is logged and explained
    contentSecurityPolicy,
    requestValidation, // ahead of whoever trusts the host or the client's address
    cors, // a preflight is answered even where no route is
    session,
    defaultLocale, // an error page has a locale too
    router, // nothing behind it runs for an unrouted request
    locale,
    localeAwareServices, // needs the locale
    logoutUrl,
    firewall, // needs the session and the route
    pagination
  ],
  'kernel.controller': [
    routerDataCollector,
    requestDataCollector, // what came in, before anyone converts it
    controllerAttributes,
    paramConverter,
    httpCache, // answers 304 with the converted parameters at hand
    template
  ],
  'kernel.controller_arguments': [
    error,
    securityExpression,
    isGranted
  ],
  'kernel.response': [
    corsResponse, // first, so that whatever fails later can be read by its caller
    contentType,
    referrerPolicy,
    response,
    linkHeader,
    requestDataCollectorResponse,
    httpCacheResponse,
    clickjacking,
    contentSecurityPolicyResponse, // behind all that may draw a nonce
    xssProtection,
    corsVary, // needs the decision of http-cache
    profiler,
    errorCspRemoval, // behind the content security policy that it takes off
    debugToolbar, // needs the token
    robots,
    sessionResponse // last: anyone before it may have touched the session
  ],
  'kernel.finish_request': [
    localeFinish,
    routerFinish,
    firewallFinish,
    assetReset,
    localeAwareServicesFinish
  ]
} as const satisfies Order
