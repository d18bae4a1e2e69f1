import type { FastifyReply, FastifyRequest } from 'fastify'
import { listener, Skip } from '../lib/lifecycle/listener.js'
import { afterBody } from '../lib/http/responses.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { routeConfigOf } from '../lib/lifecycle/request-state.js'
import { isTag, languageMatcher } from '../lib/locale/accept-language.js'
import { notFound } from '../lib/routing/route-error.js'

export interface LocaleOptions {
  /** The locales that the application speaks, as BCP 47 tags; none: any tag that a route's `_locale` takes. */
  enabledLocales?: string[]
  /** Whether `Accept-Language` (RFC 9110, section 12.5.4) chooses among them where the route does not; false by default. */
  acceptLanguage?: boolean
}

/** What the listener is told, those of other listeners that it needs among it. */
export interface LocaleListenerOptions extends LocaleOptions {
  defaultLocale?: string
  localeAwareServices?: object
}

const notConfigured = new Skip('not configured')
const noLanguage = new Skip('the request names no language that is enabled')
const unchanged = new Skip('the locale is the default')

/** Sets `request.locale` by the route's parameter `_locale`, or by `Accept-Language`. */
export const locale = listener('kernel.request', 'locale', (app, options: LocaleListenerOptions) => {
  const { enabledLocales = [], acceptLanguage = false, defaultLocale = 'en', localeAwareServices = {} } = options
  assertLocales(options)
  const { fromBeginning, mask } = app.hindsight
  const enabled = new Set(enabledLocales)
  const matching = acceptLanguage ? languageMatcher(enabledLocales, defaultLocale) : null

  function chosen (request: FastifyRequest): Skip | undefined {
    const state = stateOf(request)
    const { _locale: parameter } = request.params as { _locale?: string }
    if (parameter !== undefined) {
      if (enabled.size > 0 ? !enabled.has(parameter) : !isTag(parameter)) throw notSpoken(request, parameter, enabledLocales)
      state.locale = parameter
      state.localeSource = 'route'
      return
    }
    // What the service itself shows of its debug surface is not translated.
    if (matching === null || routeConfigOf(request)?.debugOnly === true) return notConfigured
    state.languageRead = true
    const header = request.headers['accept-language'] ?? ''
    const found = header === '' ? null : matching(header)
    if (found === null) return noLanguage
    state.locale = found
    state.localeSource = 'accept-language'
  }

  if (!fromBeginning) return chosen
  return (request) => {
    const skip = chosen(request)
    if (!stateOf(request).observed) return skip
    const { locale, localeSource: source = 'default' } = stateOf(request)
    const header = request.headers['accept-language'] ?? null
    stateOf(request).collect('locale', () => mask.value({
      locale, source, default: defaultLocale, enabled: enabledLocales, acceptLanguage: { enabled: acceptLanguage, header: header?.slice(0, 500) ?? null }, services: Object.keys(localeAwareServices)
    }))
    return skip
  }
})

/** Gives the request its default locale back; behind a stream, once its body has been made. */
export const localeFinish = listener('kernel.finish_request', 'locale', (_app, { defaultLocale = 'en', enabledLocales = [], acceptLanguage = false }: LocaleListenerOptions) => {
  const idle = enabledLocales.length > 0 || acceptLanguage ? unchanged : notConfigured
  return (request, reply: FastifyReply, payload) => {
    const state = stateOf(request)
    if (state.locale === undefined || state.locale === defaultLocale) return idle
    afterBody(reply, payload, () => { state.locale = defaultLocale })
  }
})

// In the words of the router, as if the route had asked for one of the enabled locales.
function notSpoken (request: FastifyRequest, parameter: string, enabled: readonly string[]): Error {
  request.log.debug({ channel: 'locale' }, enabled.length > 0
    ? `"${parameter}" is none of the enabled locales (${enabled.join(', ')}).`
    : `"${parameter}" is not a language tag.`)
  return notFound(request)
}

function assertLocales ({ enabledLocales = [], acceptLanguage = false, defaultLocale }: LocaleListenerOptions): void {
  const wrong = enabledLocales.find((tag) => !isTag(tag))
  if (wrong !== undefined) throw new Error(`enabledLocales: "${wrong}" is not a language tag`)
  if (acceptLanguage && enabledLocales.length === 0) throw new Error('acceptLanguage: enabledLocales must name the locales to choose from')
  if (enabledLocales.length > 0 && !enabledLocales.includes(defaultLocale ?? 'en')) {
    throw new Error(`enabledLocales: the default locale "${defaultLocale ?? 'en'}" is none of ${enabledLocales.join(', ')}; ${defaultLocale === undefined ? 'set defaultLocale' : 'add it'}`)
  }
}
