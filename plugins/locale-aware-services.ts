import type { FastifyRequest, LocaleAwareServices } from 'fastify'
import { afterBody } from 'fastify-hindsight/recorder'
import { stateOf } from '../lib/state.js'
import { listenerPair, Skip } from '../lib/listener.js'

declare module 'fastify' {
  /** The application's locale-aware services: it merges its own names and types into this interface. */
  interface LocaleAwareServices {}
  interface FastifyRequest {
    /** The locale-aware services for the locale of this request. */
    services: LocaleAwareServices
  }
}

const NAME = 'locale-aware-services'
const shared = new Skip('the services of the locale are shared')

const pair = listenerPair('kernel.finish_request', NAME, async (
  app, options
) => {
  const { localeAwareServices: makers, defaultLocale = 'en', enabledLocales = [] } = options
  if (makers === undefined) return 'not configured'

  async function servicesFor (locale: string): Promise<object> {
    const made = Object.entries(makers ?? {}).map(async ([name, make]) => [name, await make(locale)] as const)
    return Object.freeze(Object.fromEntries(await Promise.all(made)))
  }

  // Made once, and shared by concurrent requests. A service that fails for a locale stops the start.
  const byLocale = new Map<string, object>()
  for (const locale of new Set([defaultLocale, ...enabledLocales])) byLocale.set(locale, await servicesFor(locale))
  app.decorateRequest('services', {
    getter (this: FastifyRequest): LocaleAwareServices {
      const { locale = '', localeServices } = stateOf(this)
      return (byLocale.get(locale) ?? localeServices ?? byLocale.get(defaultLocale)) as LocaleAwareServices
    }
  })
  // Without enabled locales, a route may have any.
  if (enabledLocales.length > 0) return 'the services of a locale are shared by its requests'
  return [(request) => {
    const state = stateOf(request)
    const { locale = defaultLocale } = state
    if (byLocale.has(locale)) return shared
    return servicesFor(locale).then((services) => { state.localeServices = services })
  }, (request, reply, payload) => {
    const state = stateOf(request)
    if (state.localeServices === undefined) return shared
    afterBody(reply, payload, () => { state.localeServices = undefined })
  }]
})

/** Makes the services for the locale of this request available as `request.services`. */
export const localeAwareServices = pair[0]

/** Releases the services: of a stream, when it has been sent. */
export const localeAwareServicesFinish = pair[1]
