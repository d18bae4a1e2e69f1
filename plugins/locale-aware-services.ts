import type { FastifyRequest, LocaleAwareServices } from 'fastify'
import { listener, Skip } from '../lib/lifecycle/listener.js'
import { afterBody } from '../lib/http/responses.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { LocaleServices, type LocaleAwareService } from '../lib/locale/locale-services.js'

export interface LocaleAwareServicesOptions {
  /**
   * What speaks several languages (a translator, number and date formats), by the names that `request.services` gives it:
   * a function of the locale or an object with `withLocale(locale)`, either of which may answer by a promise.
   */
  localeAwareServices?: Record<string, LocaleAwareService>
}

declare module 'fastify' {
  /** The application's locale-aware services: it merges its own names and types into this interface. */
  interface LocaleAwareServices {}
  interface FastifyRequest {
    /** The locale-aware services, for the locale of this request. */
    services: LocaleAwareServices
  }
}

/** What the listener is told, those of other listeners that it needs among it. */
export interface LocaleAwareServicesListenerOptions extends LocaleAwareServicesOptions {
  defaultLocale?: string
  enabledLocales?: string[]
}

const unused = new Skip('no service was given out')

/** Makes the services for the locale of this request available as `request.services`. */
export const localeAwareServices = listener('kernel.request', 'locale-aware-services', async (app, options: LocaleAwareServicesListenerOptions) => {
  const { localeAwareServices: registered = {}, defaultLocale = 'en', enabledLocales = [] } = options
  const services = new LocaleServices(registered)
  app.decorateRequest('services', {
    getter (this: FastifyRequest): LocaleAwareServices {
      const state = stateOf(this)
      const locale = state.locale || defaultLocale
      if (state.localeServices?.locale !== locale) state.localeServices = services.now(locale)
      return state.localeServices.instances as LocaleAwareServices
    }
  })
  if (services.names.length === 0) return 'not configured'
  // A service that cannot be made for a language is found at start, and none is waited for later.
  for (const locale of new Set([defaultLocale, ...enabledLocales])) await services.load(locale)
  return (request) => {
    const state = stateOf(request)
    const set = services.load(state.locale || defaultLocale)
    if (!(set instanceof Promise)) {
      state.localeServices = set
      return
    }
    return set.then((loaded) => { state.localeServices = loaded })
  }
})

/** Takes the services back; behind a stream, once its body has been made. */
export const localeAwareServicesFinish = listener('kernel.finish_request', 'locale-aware-services', (_app, { localeAwareServices: registered = {} }: LocaleAwareServicesListenerOptions) => {
  if (Object.keys(registered).length === 0) return 'not configured'
  return (request, reply, payload) => {
    const state = stateOf(request)
    if (state.localeServices === undefined) return unused
    afterBody(reply, payload, () => { state.localeServices = undefined })
  }
})
