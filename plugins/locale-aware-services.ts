import type { FastifyRequest, LocaleAwareServices } from 'fastify'
import { isPromise, listener, Skip } from '../lib/lifecycle/listener.js'
import { afterBody } from '../lib/http/responses.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import type { LocaleAwareService } from '../lib/locale/languages.js'

export interface LocaleAwareServicesOptions {
  /**
   * Services in several languages, such as a translator or number and date formats, by their names in
   * `request.services`: a function of the locale or an object with `withLocale(locale)`; either may return a promise.
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

declare module '../lib/lifecycle/request-state.js' {
  interface RequestState {
    /** The services that the request has used, and their locale. */
    localeServices?: { locale: string, instances: object } | undefined
  }
}

/** Clients can name any locale where the application enables no list. */
const MAX_LOCALES = 200
const unused = new Skip('no service was used')

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
  if (Object.keys(registered).length === 0) return 'not configured'
  // A service that fails for a locale stops the start.
  for (const locale of new Set([defaultLocale, ...enabledLocales])) await services.get(locale)
  return (request) => {
    const state = stateOf(request)
    const locale = state.locale || defaultLocale
    const use = (instances: object): void => { state.localeServices = { locale, instances } }
    const instances = services.get(locale)
    return instances instanceof Promise ? instances.then(use) : use(instances)
  }
})

/** Releases the services: of a stream, when it has been sent. */
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

/**
 * The services of an application: one set of instances for each locale, shared by all requests. The locale of an
 * instance never changes, so that concurrent requests do not affect each other.
 */
class LocaleServices {
  readonly #factories: ReadonlyArray<readonly [name: string, make: (locale: string) => unknown]>
  /** By locale, the oldest first: the instances by the names of their services, or a promise of them. */
  readonly #sets = new Map<string, object | Promise<object>>()

  constructor (services: Record<string, LocaleAwareService>) {
    this.#factories = Object.entries(services).map(([name, service]) => [name, factoryOf(name, service)])
  }

  /** The instances for a locale, which are made with the first call. */
  get (locale: string): object | Promise<object> {
    const known = this.#sets.get(locale)
    if (known !== undefined) return known
    const made = this.#factories.map(([, make]) => make(locale))
    const set = made.some(isPromise) ? this.#load(locale, made) : this.#named(made)
    const [oldest] = this.#sets.keys()
    if (oldest !== undefined && this.#sets.size >= MAX_LOCALES) this.#sets.delete(oldest)
    this.#sets.set(locale, set)
    return set
  }

  /** The instances for a locale. Throws where they are not loaded. */
  instances (locale: string): object {
    const set = this.get(locale)
    if (!(set instanceof Promise)) return set
    set.catch(() => {})
    const hint = 'name it in enabledLocales, so that they are loaded at start'
    throw new Error(`The locale-aware services for "${locale}" are not loaded yet: ${hint}`)
  }

  async #load (locale: string, made: unknown[]): Promise<object> {
    try {
      const set = this.#named(await Promise.all(made))
      if (this.#sets.has(locale)) this.#sets.set(locale, set)
      return set
    } catch (error) {
      this.#sets.delete(locale)
      throw error
    }
  }

  #named (instances: unknown[]): object {
    return Object.freeze(Object.fromEntries(this.#factories.map(([name], i) => [name, instances[i]])))
  }
}

function factoryOf (name: string, service: LocaleAwareService): (locale: string) => unknown {
  if (typeof service === 'function') return service
  if (typeof (service as { withLocale?: unknown } | null)?.withLocale === 'function') {
    return (locale) => service.withLocale(locale)
  }
  throw new Error(`localeAwareServices.${name}: neither a function of a locale nor an object with withLocale(locale)`)
}
