import { listener } from '../kernel/listener.js'

export interface DefaultLocaleOptions {
  /** The locale of a request that names none, as a BCP 47 tag. */
  defaultLocale?: string
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The locale of this request, as a BCP 47 tag. */
    locale: string
  }
}

/** Sets `request.locale` to the configured default. */
export const defaultLocale = listener('kernel.request', 'default-locale', (app, { defaultLocale: locale = 'en' }: DefaultLocaleOptions) => {
  if (!isLanguageTag(locale)) throw new Error(`defaultLocale: "${String(locale)}" is not a language tag`)
  app.decorateRequest('locale', locale)
  return (request) => {
    request.locale = locale
  }
})

function isLanguageTag (locale: string): boolean {
  try {
    return typeof locale === 'string' && Intl.getCanonicalLocales(locale).length === 1
  } catch {
    return false
  }
}
