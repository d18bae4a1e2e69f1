import type { FastifyRequest, LocaleAwareServices } from 'fastify'
import { listener } from '../lib/lifecycle/listener.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import type { LocaleAwareService } from '../lib/locale/languages.js'

export interface LocaleAwareServicesOptions {
  /**
   * Services in several languages, such as a translator or number and date formats, by their names in
   * `request.services`: a function of the locale, which may return a promise. They are made at the start, for the
   * default locale and the enabled ones.
   */
  localeAwareServices?: Record<string, LocaleAwareService>
}

declare module 'fastify' {
  /** The application's locale-aware services: it merges its own names and types into this interface. */
  interface LocaleAwareServices {}
  interface FastifyRequest {
    /** The locale-aware services for the locale of this request. */
    services: LocaleAwareServices
  }
}

/** The options of the listener, with those of other listeners. */
interface LocaleAwareServicesListenerOptions extends LocaleAwareServicesOptions {
  defaultLocale?: string
  enabledLocales?: string[]
}

const SHARED = 'the services of a locale are shared by its requests'

/** Makes the services for the locale of this request available as `request.services`. */
export const localeAwareServices = listener('kernel.request', 'locale-aware-services', async (
  app, { localeAwareServices: makers, defaultLocale = 'en', enabledLocales = [] }: LocaleAwareServicesListenerOptions
) => {
  if (makers === undefined) return 'not configured'
  const byLocale = new Map<string, object>()
  for (const locale of new Set([defaultLocale, ...enabledLocales])) {
    const services = Object.entries(makers).map(async ([name, make]) => [name, await make(locale)] as const)
    byLocale.set(locale, Object.freeze(Object.fromEntries(await Promise.all(services))))
  }
  app.decorateRequest('services', {
    getter (this: FastifyRequest): LocaleAwareServices {
      return (byLocale.get(stateOf(this).locale ?? '') ?? byLocale.get(defaultLocale)) as LocaleAwareServices
    }
  })
  return SHARED
})

/** Has nothing to release. */
export const localeAwareServicesFinish = listener('kernel.finish_request', 'locale-aware-services', (
  _app, { localeAwareServices }: LocaleAwareServicesOptions
) => localeAwareServices === undefined ? 'not configured' : SHARED)
