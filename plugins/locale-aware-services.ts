import type { FastifyRequest, LocaleAwareServices } from 'fastify'
import { listener, Skip } from '../lib/lifecycle/listener.js'
import { afterBody } from '../lib/http/responses.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { LocaleServices, type LocaleAwareService } from '../lib/locale/locale-services.js'

export interface LocaleAwareServicesOptions {
  /**
   * Services in several languages, such as a translator or number and date formats, by their names in
   * `request.services`:
   * a function of the locale or an object with `withLocale(locale)`; either may return a promise.
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

/** The options of the listener, with those of other listeners that it needs. */
export interface LocaleAwareServicesListenerOptions extends LocaleAwareServicesOptions {
  defaultLocale?: string
  enabledLocales?: string[]
}

const unused = new Skip('no service was given out')

/** Makes the services for the locale of this request available as `request.services`. */
export const localeAwareServices = listener('kernel.request', 'locale-aware-services', async (
  app, options: LocaleAwareServicesListenerOptions
) => {
  const { localeAwareServices: registered = {}, defaultLocale = 'en', enabledLocales = [] } = options
  const services = new LocaleServices(registered)
  app.decorateRequest('services', {
    getter (this: FastifyRequest): LocaleAwareServices {
      const state = stateOf(this)
      const locale = state.locale || defaultLocale
      if (state.localeServices?.locale !== locale) {
        state.localeServices = { locale, instances: services.instances(locale) }
      }
      return state.localeServices.instances as LocaleAwareServices
    }
  })
  if (services.isEmpty) return 'not configured'
  // A service that fails for a locale stops the start.
  for (const locale of new Set([defaultLocale, ...enabledLocales])) await services.get(locale).loading
  return (request) => {
    const state = stateOf(request)
    const set = services.get(state.locale || defaultLocale)
    const use = (): void => { state.localeServices = { locale: set.locale, instances: set.instances as object } }
    return set.instances === null ? set.loading?.then(use) : use()
  }
})

/** Releases the services; after a stream, once its body has been sent. */
export const localeAwareServicesFinish = listener('kernel.finish_request', 'locale-aware-services', (
  _app, options: LocaleAwareServicesListenerOptions
) => {
  if (Object.keys(options.localeAwareServices ?? {}).length === 0) return 'not configured'
  return (request, reply, payload) => {
    const state = stateOf(request)
    if (state.localeServices === undefined) return unused
    afterBody(reply, payload, () => { state.localeServices = undefined })
  }
})
