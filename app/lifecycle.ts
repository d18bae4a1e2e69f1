import type { Stage } from '../lib/stages.js'
import type { Listener } from '../lib/listener.js'
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

type Order = { readonly [S in Stage]: ReadonlyArray<Listener<S>> }

/** The order of the listeners in each stage (section 6 of the document on the observed service). */
export const lifecycle = {
  'kernel.request': [
    debugHandlers, // first, so that everything after it is logged and explained
    contentSecurityPolicy,
    requestValidation, // before everything that trusts the host or the client's address
    cors, // answers preflights, also for paths without a route
    session,
    defaultLocale, // an error page has a locale too
    router, // no listener after it runs for an unrouted request
    locale,
    localeAwareServices, // needs the locale
    logoutUrl,
    firewall, // needs the session and the route
    pagination
  ],
  'kernel.controller': [
    routerDataCollector,
    requestDataCollector, // before parameters are converted
    controllerAttributes,
    paramConverter,
    httpCache, // may answer 304; uses the converted parameters
    template
  ],
  'kernel.controller_arguments': [
    error,
    securityExpression,
    isGranted
  ],
  'kernel.response': [
    corsResponse, // first, so that scripts can read the response of a later failure
    contentType,
    referrerPolicy,
    response,
    linkHeader,
    requestDataCollectorResponse,
    httpCacheResponse,
    clickjacking,
    contentSecurityPolicyResponse, // after everything that may use a nonce
    xssProtection,
    corsVary, // needs the decision of http-cache
    profiler,
    errorCspRemoval, // after the content security policy, which it removes
    debugToolbar, // needs the token
    robots,
    sessionResponse // last: any listener before it may use the session
  ],
  'kernel.finish_request': [
    localeFinish,
    routerFinish,
    firewallFinish,
    assetReset,
    localeAwareServicesFinish
  ]
} as const satisfies Order
