import type { FastifyRequest, LocaleAwareServices } from 'fastify'
import { listener } from '../lib/lifecycle/listener.js'
import { stateOf } from '../lib/lifecycle/request-state.js'

declare module 'fastify' {
  /** The application's locale-aware services: it merges its own names and types into this interface. */
  interface LocaleAwareServices {}
  interface FastifyRequest {
    /** The locale-aware services for the locale of this request. */
    services: LocaleAwareServices
  }
}

const SHARED = 'the services of a locale are shared by its requests'

/** Makes the services for the locale of this request available as `request.services`. */
export const localeAwareServices = listener('kernel.request', 'locale-aware-services', async (app, options) => {
  const { localeAwareServices: makers, defaultLocale = 'en', enabledLocales = [] } = options
  if (makers === undefined) return 'not configured'

  // Their locale never changes: concurrent requests share them. A service that fails for a locale stops the start.
  const byLocale = new Map<string, object>()
  for (const locale of new Set([defaultLocale, ...enabledLocales])) {
    const made = Object.entries(makers).map(async ([name, make]) => [name, await make(locale)] as const)
    byLocale.set(locale, Object.freeze(Object.fromEntries(await Promise.all(made))))
  }
  app.decorateRequest('services', {
    getter (this: FastifyRequest): LocaleAwareServices {
      const { locale = '' } = stateOf(this)
      return (byLocale.get(locale) ?? byLocale.get(defaultLocale)) as LocaleAwareServices
    }
  })
  return SHARED
})

/** Has nothing to release: the locale listener resets the locale, and with it the services. */
export const localeAwareServicesFinish = listener('kernel.finish_request', 'locale-aware-services', (
  _app, { localeAwareServices }
) => localeAwareServices === undefined ? 'not configured' : SHARED)
