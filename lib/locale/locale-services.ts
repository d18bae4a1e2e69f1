/** What speaks several languages: makes its instance for a locale, now or by a promise. */
export type LocaleAwareService = ((locale: string) => unknown) | { withLocale: (locale: string) => unknown }

/** The instances for one locale, by the names of the services. */
export interface ServiceSet {
  locale: string
  instances: object
}

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    /** The locale, as a BCP 47 tag. */
    locale?: string
    localeSource?: 'route' | 'accept-language'
    /** Whether `Accept-Language` was read, so that caches must distinguish it. */
    languageRead?: boolean
    /** The instances of locale-aware services for the request. */
    localeServices?: ServiceSet | undefined
  }
}

const MAX_LOCALES = 200

/**
 * The locale-aware services of an application: one set of instances for each locale, made once and shared by all
 * requests in that language. No instance ever changes its locale, so that concurrent requests cannot see each other's.
 */
export class LocaleServices {
  readonly names: readonly string[]
  readonly #services: ReadonlyMap<string, (locale: string) => unknown>
  readonly #sets = new Map<string, ServiceSet | Promise<ServiceSet>>()

  constructor (services: Record<string, LocaleAwareService>) {
    this.#services = new Map(Object.entries(services).map(([name, service]) => [name, factoryOf(name, service)]))
    this.names = [...this.#services.keys()]
  }

  /** The set for a locale, at once where every service is made at once. */
  load (locale: string): ServiceSet | Promise<ServiceSet> {
    const known = this.#sets.get(locale)
    if (known !== undefined) return known
    const made = this.#make(locale)
    // Without a list of locales a client names them.
    const [oldest] = this.#sets.keys()
    if (oldest !== undefined && this.#sets.size >= MAX_LOCALES) this.#sets.delete(oldest)
    this.#sets.set(locale, made)
    if (made instanceof Promise) {
      made.then((set) => { if (this.#sets.get(locale) === made) this.#sets.set(locale, set) }, () => this.#sets.delete(locale))
    }
    return made
  }

  /** The set for a locale that the application has chosen itself, behind the listener. */
  now (locale: string): ServiceSet {
    const set = this.load(locale)
    if (!(set instanceof Promise)) return set
    set.catch(() => {})
    throw new Error(`The locale-aware services for "${locale}" are not loaded yet: name it in enabledLocales, so that they are loaded at start`)
  }

  #make (locale: string): ServiceSet | Promise<ServiceSet> {
    const made = [...this.#services].map(([name, make]) => [name, make(locale)] as const)
    const set = (entries: ReadonlyArray<readonly [string, unknown]>): ServiceSet => ({ locale, instances: Object.freeze(Object.fromEntries(entries)) })
    if (!made.some(([, instance]) => isThenable(instance))) return set(made)
    return Promise.all(made.map(async ([name, instance]) => [name, await instance] as const)).then(set)
  }
}

function factoryOf (name: string, service: LocaleAwareService): (locale: string) => unknown {
  if (typeof service === 'function') return service
  if (typeof (service as { withLocale?: unknown } | null)?.withLocale === 'function') return (locale) => service.withLocale(locale)
  throw new Error(`localeAwareServices.${name}: neither a function of a locale nor an object with withLocale(locale)`)
}

function isThenable (value: unknown): boolean {
  return typeof (value as { then?: unknown } | null)?.then === 'function'
}
