import { isPromise } from '../lifecycle/listener.js'

/** A service in several languages: makes its instance for a locale, or a promise of it. */
export type LocaleAwareService = ((locale: string) => unknown) | { withLocale: (locale: string) => unknown }

/** The instances of all services for one locale. */
export interface ServiceSet {
  locale: string
  /** By the names of the services; null until all are made. */
  instances: object | null
  /** Resolves when all are made; null where no service is asynchronous. */
  loading: Promise<void> | null
}

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    /** The locale, as a BCP 47 tag. */
    locale?: string
    localeSource?: 'route' | 'accept-language'
    /** Whether `Accept-Language` was read, so that caches must distinguish it. */
    languageRead?: boolean
    /** The instances of locale-aware services for the request. */
    localeServices?: Pick<ServiceSet, 'locale' | 'instances'> | undefined
  }
}

/** Clients can name any locale where the application enables no list. */
const MAX_LOCALES = 200

/**
 * The locale-aware services of an application: one set of instances for each locale, shared by all requests. The locale
 * of an instance never changes, so that concurrent requests do not affect each other.
 */
export class LocaleServices {
  readonly #factories: ReadonlyArray<readonly [name: string, make: (locale: string) => unknown]>
  // The oldest set is the first.
  readonly #sets = new Map<string, ServiceSet>()

  constructor (services: Record<string, LocaleAwareService>) {
    this.#factories = Object.entries(services).map(([name, service]) => [name, factoryOf(name, service)])
  }

  get isEmpty (): boolean {
    return this.#factories.length === 0
  }

  /** The set for a locale, which is made with the first call. */
  get (locale: string): ServiceSet {
    const known = this.#sets.get(locale)
    if (known !== undefined) return known
    const set = this.#make(locale)
    const [oldest] = this.#sets.keys()
    if (oldest !== undefined && this.#sets.size >= MAX_LOCALES) this.#sets.delete(oldest)
    this.#sets.set(locale, set)
    return set
  }

  /** The instances for a locale. Throws where they are not made yet. */
  instances (locale: string): object {
    const { instances, loading } = this.get(locale)
    if (instances !== null) return instances
    loading?.catch(() => {})
    const hint = 'name it in enabledLocales, so that they are loaded at start'
    throw new Error(`The locale-aware services for "${locale}" are not loaded yet: ${hint}`)
  }

  #make (locale: string): ServiceSet {
    const set: ServiceSet = { locale, instances: null, loading: null }
    const made = this.#factories.map(([, make]) => make(locale))
    const finish = (instances: unknown[]): void => {
      set.instances = Object.freeze(
        Object.fromEntries(instances.map((instance, i) => [this.#factories[i]?.[0], instance]))
      )
    }
    if (!made.some(isPromise)) {
      finish(made)
      return set
    }
    set.loading = Promise.all(made).then(finish).catch((error: unknown) => {
      this.#sets.delete(locale)
      throw error
    })
    return set
  }
}

function factoryOf (name: string, service: LocaleAwareService): (locale: string) => unknown {
  if (typeof service === 'function') return service
  if (typeof (service as { withLocale?: unknown } | null)?.withLocale === 'function') {
    return (locale) => service.withLocale(locale)
  }
  throw new Error(`localeAwareServices.${name}: neither a function of a locale nor an object with withLocale(locale)`)
}
