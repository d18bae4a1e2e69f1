import type { HindsightOptions } from './options.js'

/** The listeners that an option switches on in `observe` mode, in which none runs otherwise. */
const LISTENERS: Readonly<Partial<Record<keyof HindsightOptions, readonly string[]>>> = {
  acceptLanguage: ['default-locale', 'locale'],
  assets: ['asset-reset'],
  charset: ['response'],
  clickjacking: ['clickjacking'],
  contentSecurityPolicy: ['content-security-policy'],
  converters: ['controller-attributes', 'param-converter'],
  cors: ['cors', 'cors-vary'],
  defaultLocale: ['default-locale', 'locale'],
  earlyHints: ['controller-attributes', 'link-header'],
  enabledLocales: ['default-locale', 'locale'],
  localeAwareServices: ['default-locale', 'locale-aware-services'],
  noIndex: ['robots'],
  pagination: ['pagination'],
  referrerPolicy: ['referrer-policy'],
  security: ['session', 'controller-attributes', 'logout-url', 'firewall', 'security-expression', 'is-granted'],
  session: ['session'],
  template: ['controller-attributes', 'template'],
  trustedHosts: ['request-validation'],
  xssProtection: ['xss-protection']
}

/** The names of the listeners that the given options switch on. */
export function listenersOf (options: HindsightOptions): ReadonlySet<string> {
  const names = Object.keys(LISTENERS) as Array<keyof typeof LISTENERS>
  return new Set(names.filter((name) => options[name] !== undefined && options[name] !== false).flatMap((name) => LISTENERS[name] ?? []))
}
