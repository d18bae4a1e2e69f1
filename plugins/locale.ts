import Negotiator from 'negotiator'
import type { FastifyRequest } from 'fastify'
import { afterBody, attemptCall, notFound, routeConfigOf, traceOf } from 'fastify-hindsight/recorder'
import { stateOf } from '../lib/state.js'
import { locale as localePart } from '../lib/parts/listeners.js'
import { defineListener, Skip, notConfigured } from '../lib/listener.js'

/** Characters of `Accept-Language`: a longer one is not read. */
const MAX_HEADER = 500
const noLanguage = new Skip('the request names no language that is enabled')
const unchanged = new Skip('the locale is the default')

/** Sets `request.locale` by the route's parameter `_locale`, or by `Accept-Language`. */
export const locale = defineListener('kernel.request', 'locale', (app, options) => {
  const { enabledLocales = [], acceptLanguage = false, defaultLocale = 'en', localeAwareServices = {} } = options
  if (acceptLanguage && enabledLocales.length === 0) {
    throw new Error('acceptLanguage: enabledLocales must name the locales to choose from')
  }
  if (enabledLocales.length > 0 && !enabledLocales.includes(defaultLocale)) {
    throw new Error(`enabledLocales: the default locale "${defaultLocale}" is none of ${enabledLocales.join(', ')}`)
  }

  function choose (request: FastifyRequest): Skip | undefined {
    const state = stateOf(request)
    const { _locale: parameter } = request.params as { _locale?: string }
    if (parameter !== undefined) {
      assertEnabled(request, parameter, enabledLocales)
      state.locale = parameter
      state.localeSource = 'route'
      return
    }
    // The debug surface has one language.
    if (!acceptLanguage || routeConfigOf(request)?.debugOnly === true) return notConfigured
    state.languageRead = true
    const found = bestLocale(request.headers['accept-language'] ?? '', enabledLocales, defaultLocale)
    if (found === null) return noLanguage
    state.locale = found
    state.localeSource = 'accept-language'
  }

  return (request) => {
    const skip = choose(request)
    const { locale = defaultLocale, localeSource: source = 'default' } = stateOf(request)
    const header = request.headers['accept-language']?.slice(0, MAX_HEADER) ?? null
    traceOf(request).collect(localePart, () => app.hindsight.mask.value({
      locale,
      source,
      default: defaultLocale,
      enabled: enabledLocales,
      acceptLanguage: { enabled: acceptLanguage, header },
      services: Object.keys(localeAwareServices)
    }))
    return skip
  }
})

/** Resets the locale of the request: of a stream, when it has been sent. */
export const localeFinish = defineListener('kernel.finish_request', 'locale', (_app, options) => {
  const { enabledLocales = [], defaultLocale = 'en' } = options
  if (enabledLocales.length === 0) return 'not configured'
  return (request, reply, payload) => {
    const state = stateOf(request)
    if ((state.locale ?? defaultLocale) === defaultLocale) return unchanged
    afterBody(reply, payload, () => { state.locale = defaultLocale })
  }
})

/** Throws the error of the router where a locale is not enabled, as if the route required one that is. */
function assertEnabled (request: FastifyRequest, locale: string, enabled: readonly string[]): void {
  if (enabled.length > 0 ? enabled.includes(locale) : isLanguageTag(locale)) return
  const list = enabled.length > 0 ? `none of the enabled locales (${enabled.join(', ')})` : 'not a language tag'
  request.log.debug({ channel: 'locale' }, `"${locale}" is ${list}.`)
  throw notFound(traceOf(request))
}

/** The enabled locale that suits `Accept-Language` best (RFC 9110, section 12.5.4); null if none is acceptable. */
function bestLocale (header: string, locales: readonly string[], preferred: string): string | null {
  if (header === '' || header.length > MAX_HEADER) return null
  const negotiator = new Negotiator({ headers: { 'accept-language': header } })
  // `*` selects the first locale, the default.
  return negotiator.language([preferred, ...locales.filter((locale) => locale !== preferred)]) ?? null
}

/** Whether a text is a language tag (RFC 5646). */
function isLanguageTag (text: string): boolean {
  return attemptCall(() => Intl.getCanonicalLocales(text).length === 1, () => false)
}
