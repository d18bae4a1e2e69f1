import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { addVary, dropContent, isRedirect } from '../lib/http/responses.js'
import { listener, ownHook } from '../lib/lifecycle/listener.js'
import { routeConfigOf, stateOf, type RouteConfig } from '../lib/lifecycle/request-state.js'

export interface ResponseOptions {
  /** Whether text types without a charset are completed by UTF-8. */
  charset?: boolean
}

declare module '../lib/lifecycle/request-state.js' {
  interface RequestState {
    /** Whether `Cache-Control` has the default for responses without one, or will have it. */
    defaultCacheControl?: boolean
  }
}

const PRIVATE = 'no-cache, private'
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/
const NEEDS_CHARSET = /^text\/|^application\/(?:javascript|xhtml\+xml)\b/i

/**
 * Makes the message conform (RFC 9110, sections 6.4 and 8): a charset on text if that is configured, no content for
 * 204, 205 and 304, no length with a transfer coding, `Content-Language`, and a private `Cache-Control` where there is
 * none.
 */
export const response = listener('kernel.response', 'response', (
  app, options: ResponseOptions & { enabledLocales?: string[] }
) => {
  const { charset = false, enabledLocales = [] } = options
  const slot = app.hindsight.lifecycle.slots.at(-1)?.index ?? -1

  // Hooks of the application that set a `Cache-Control` if there is none run after the listeners: the default is set
  // after them.
  const setLastDefault = ownHook(function setLastDefault (
    request: FastifyRequest, reply: FastifyReply, payload: unknown, done: (error: null, payload: unknown) => void
  ) {
    const { recorder } = stateOf(request)
    if (hasNoCacheControl(reply)) {
      if (recorder === null) setPrivate(reply)
      else recorder.amend(slot, reply, setPrivate)
    }
    done(null, payload)
  })
  // By method and path: a mark in the route's `config` would be visible to the application.
  const routes = new Set<string>()
  app.addHook('onRoute', function addLastHook (route: RouteOptions) {
    route.onSend = [...[route.onSend ?? []].flat(), setLastDefault] as NonNullable<RouteOptions['onSend']>
    routes.add(keyOf(route))
  })

  return (request, reply, payload) => {
    const { statusCode } = reply
    if (hasNoCacheControl(reply)) {
      stateOf(request).defaultCacheControl = true
      const config = routeConfigOf(request)
      if (config === undefined || !routes.has(keyOf(config))) setPrivate(reply)
    }
    setLanguage(request, reply, enabledLocales.length > 0)
    // The client's own identifier of the request.
    const { 'x-request-id': id } = request.headers
    if (typeof id === 'string' && REQUEST_ID.test(id) && !reply.hasHeader('x-request-id')) {
      reply.header('x-request-id', id)
    }
    if (statusCode === 204 || statusCode === 205 || statusCode === 304 || statusCode < 200) {
      const nothing = dropContent(reply, payload)
      return statusCode === 205 ? '' : nothing
    }
    if (reply.hasHeader('transfer-encoding')) reply.removeHeader('content-length')
    const type = reply.getHeader('content-type')
    if (charset && typeof type === 'string' && NEEDS_CHARSET.test(type) && !/;\s*charset=/i.test(type)) {
      reply.header('content-type', `${type}; charset=utf-8`)
    }
  }
})

function hasNoCacheControl (reply: FastifyReply): boolean {
  return !reply.hasHeader('cache-control') && !(reply.statusCode === 301 && isRedirect(reply))
}

function setPrivate (reply: FastifyReply): void {
  reply.header('cache-control', PRIVATE)
}

function keyOf ({ method, url }: Pick<RouteConfig, 'method' | 'url'>): string {
  return `${String(method)} ${url}`
}

// RFC 9110, section 8.5: the language of the audience; not on error pages, redirects and the debug surface.
function setLanguage (request: FastifyRequest, reply: FastifyReply, hasLocales: boolean): void {
  const { failed, languageRead, locale, localeSource, route } = stateOf(request)
  if (languageRead === true) addVary(reply, 'Accept-Language')
  if (!locale || (!hasLocales && localeSource === undefined)) return
  const isDocument = !failed && route !== null && routeConfigOf(request)?.debugOnly !== true && !isRedirect(reply) &&
    reply.statusCode !== 304
  if (isDocument && !reply.hasHeader('content-language')) reply.header('content-language', locale)
}
