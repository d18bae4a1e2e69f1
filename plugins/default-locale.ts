import type { FastifyRequest } from 'fastify'
import { stateOf } from '../lib/state.js'
import { defineListener } from '../lib/listener.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The locale of this request, as a BCP 47 tag. */
    locale: string
  }
}

/** Sets `request.locale` to the configured default; `en` needs no hook. */
export const defaultLocale = defineListener('kernel.request', 'default-locale', (app, { defaultLocale: given }) => {
  const locale = given ?? 'en'
  app.decorateRequest('locale', {
    getter (this: FastifyRequest) { return stateOf(this).locale || locale },
    setter (this: FastifyRequest, value: string) { stateOf(this).locale = value }
  })
  return given === undefined ? 'not configured' : (request) => { stateOf(request).locale = locale }
})
