import type { FastifyRequest } from 'fastify'
import { listener } from '../lib/lifecycle/listener.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { isLanguageTag } from '../lib/locale/languages.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The locale of this request, as a BCP 47 tag. */
    locale: string
  }
}

/** Sets `request.locale` to the configured default. */
export const defaultLocale = listener('kernel.request', 'default-locale', (app, { defaultLocale: locale = 'en' }) => {
  if (!isLanguageTag(locale)) throw new Error(`defaultLocale: "${String(locale)}" is not a language tag`)
  app.decorateRequest('locale', {
    getter (this: FastifyRequest) { return stateOf(this).locale || locale },
    setter (this: FastifyRequest, own: string) { stateOf(this).locale = own }
  })
  return (request) => { stateOf(request).locale = locale }
})
