import type { Stage } from '../../../lifecycle/lifecycle.js'

/** The 42 places of the lifecycle by name, as the documents have them: a stored profile tells only of those that were reached. */
export const ORDER: ReadonlyArray<readonly [stage: Stage, listeners: readonly string[]]> = [
  ['kernel.request', [
    'debug-handlers', 'content-security-policy', 'request-validation', 'cors', 'session', 'default-locale', 'router', 'locale', 'locale-aware-services',
    'logout-url', 'firewall', 'pagination'
  ]],
  ['kernel.controller', ['router-data-collector', 'request-data-collector', 'controller-attributes', 'param-converter', 'http-cache', 'template']],
  ['kernel.controller_arguments', ['error', 'security-expression', 'is-granted']],
  ['kernel.response', [
    'cors', 'content-type', 'referrer-policy', 'response', 'link-header', 'request-data-collector', 'http-cache', 'clickjacking',
    'content-security-policy', 'xss-protection', 'cors-vary', 'profiler', 'error-csp-removal', 'debug-toolbar', 'robots', 'session'
  ]],
  ['kernel.finish_request', ['locale', 'router', 'firewall', 'asset-reset', 'locale-aware-services']]
]
