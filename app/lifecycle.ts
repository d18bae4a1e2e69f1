import type { Stage } from '../lib/lifecycle/lifecycle.js'
import type { Listener } from '../lib/lifecycle/listener.js'
import type { HindsightOptions } from './options.js'
import { assetReset } from '../plugins/asset-reset.js'
import { clickjacking } from '../plugins/clickjacking.js'
import { contentSecurityPolicy, contentSecurityPolicyResponse } from '../plugins/content-security-policy.js'
import { contentType } from '../plugins/content-type.js'
import { controllerAttributes } from '../plugins/controller-attributes.js'
import { cors, corsResponse } from '../plugins/cors.js'
import { corsVary } from '../plugins/cors-vary.js'
import { debugHandlers } from '../plugins/debug-handlers.js'
import { debugToolbar } from '../plugins/debug-toolbar.js'
import { defaultLocale } from '../plugins/default-locale.js'
import { error } from '../plugins/error.js'
import { errorCspRemoval } from '../plugins/error-csp-removal.js'
import { firewall, firewallFinish } from '../plugins/firewall.js'
import { httpCache, httpCacheResponse } from '../plugins/http-cache.js'
import { isGranted } from '../plugins/is-granted.js'
import { linkHeader } from '../plugins/link-header.js'
import { locale, localeFinish } from '../plugins/locale.js'
import { localeAwareServices, localeAwareServicesFinish } from '../plugins/locale-aware-services.js'
import { logoutUrl } from '../plugins/logout-url.js'
import { pagination } from '../plugins/pagination.js'
import { paramConverter } from '../plugins/param-converter.js'
import { profiler } from '../plugins/profiler.js'
import { referrerPolicy } from '../plugins/referrer-policy.js'
import { requestDataCollector, requestDataCollectorResponse } from '../plugins/request-data-collector.js'
import { requestValidation } from '../plugins/request-validation.js'
import { response } from '../plugins/response.js'
import { robots } from '../plugins/robots.js'
import { router, routerFinish } from '../plugins/router.js'
import { routerDataCollector } from '../plugins/router-data-collector.js'
import { securityExpression } from '../plugins/security-expression.js'
import { session, sessionResponse } from '../plugins/session.js'
import { template } from '../plugins/template.js'
import { xssProtection } from '../plugins/xss-protection.js'

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
