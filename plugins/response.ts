import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import vary from 'vary'
import { dropContent, isRedirect } from '../lib/http/responses.js'
import { listener, ownHook } from '../lib/lifecycle/listener.js'
import { routeConfigOf, stateOf, type RouteConfig } from '../lib/lifecycle/request-state.js'

export interface ResponseOptions {
  /** Whether text that names no charset is said to be UTF-8. */
  charset?: boolean
}

declare module '../lib/lifecycle/request-state.js' {
  interface RequestState {
    /** Whether `Cache-Control` has the default for responses without one, or will have it. */
    defaultCacheControl?: boolean
  }
}

/**
 * Makes the message conform (RFC 9110, sections 6.4 and 8): a charset on text where that is wanted, no content for 204, 205 and 304,
 * no length beside a transfer coding; the language that was chosen for it; and a `Cache-Control` that keeps shared
 * caches out where nothing else was said.
 */
export const response = listener('kernel.response', 'response', (app, { charset = false, enabledLocales = [] }: ResponseOptions & { enabledLocales?: string[] }) => {
  const hasLocales = enabledLocales.length > 0
  const slot = app.hindsight.lifecycle.slots.at(-1)?.index ?? -1
  const isSilent = (reply: FastifyReply): boolean => !reply.hasHeader('cache-control') && !(reply.statusCode === 301 && isRedirect(reply))
  // Hooks of the application that set a `Cache-Control` where there is none come behind the listeners.
  const speak = (request: FastifyRequest, reply: FastifyReply): void => {
    if (!isSilent(reply)) return
    const { recorder } = stateOf(request)
    if (recorder === null) keepPrivate(reply)
    else recorder.amend(slot, reply, keepPrivate)
  }
  const speakLast = ownHook(function speakLast (request: FastifyRequest, reply: FastifyReply, payload: unknown, done: (error: null, payload: unknown) => void) {
    speak(request, reply)
    done(null, payload)
  })
  // By method and path: a mark in its `config` would be seen by who reads that.
  const spoken = new Set<string>()
  app.addHook('onRoute', function letSpeakFirst (route: RouteOptions) {
    route.onSend = [...[route.onSend ?? []].flat(), speakLast] as NonNullable<RouteOptions['onSend']>
    spoken.add(nameOf(route))
  })
  const speaksLast = (config: RouteConfig | undefined): boolean => config !== undefined && spoken.has(nameOf(config))
  return (request, reply, payload) => {
    const { statusCode } = reply
    const state = stateOf(request)
    if (isSilent(reply)) {
      state.defaultCacheControl = true
      // What no route took has no hook behind all others.
      if (!speaksLast(routeConfigOf(request))) reply.header('cache-control', PRIVATE)
    }
    if (hasLocales || state.languageRead || state.localeSource !== undefined) tellLanguage(request, reply, hasLocales)
    const { 'x-request-id': id } = request.headers
    if (id !== undefined) echoRequestId(id, reply)
    if (statusCode === 204 || statusCode === 205 || statusCode === 304 || statusCode < 200) {
      const nothing = dropContent(reply, payload)
      return statusCode === 205 ? '' : nothing
    }
    const transferred = reply.hasHeader('transfer-encoding')
    if (transferred) reply.removeHeader('content-length')
    const type = reply.getHeader('content-type')
    if (charset && type !== JSON_TYPE && typeof type === 'string' && NEEDS_CHARSET.test(type) && !/;\s*charset=/i.test(type)) {
      reply.header('content-type', `${type}; charset=utf-8`)
    }
  }
})

function nameOf ({ method, url }: Pick<RouteConfig, 'method' | 'url'>): string {
  return `${String(method)} ${url}`
}

function keepPrivate (reply: FastifyReply): void {
  reply.header('cache-control', PRIVATE)
}

// What a client calls its request is told back as it came, unless the route says otherwise.
function echoRequestId (id: unknown, reply: FastifyReply): void {
  if (typeof id === 'string' && REQUEST_ID.test(id) && !reply.hasHeader('x-request-id')) reply.header('x-request-id', id)
}

// RFC 9110, section 8.5: whom the content is meant for. An error page, a redirect and the debug surface speak for themselves.
function tellLanguage (request: FastifyRequest, reply: FastifyReply, hasLocales: boolean): void {
  const { localeSource, languageRead, failed } = stateOf(request)
  if (languageRead) reply.header('vary', vary.append(String(reply.getHeader('vary') ?? ''), 'Accept-Language'))
  if (!hasLocales && localeSource === undefined) return
  if (failed || stateOf(request).route === null || routeConfigOf(request)?.debugOnly === true || isRedirect(reply) || reply.statusCode === 304) return
  const { locale } = stateOf(request)
  if (locale !== undefined && !reply.hasHeader('content-language')) reply.header('content-language', locale)
}

const PRIVATE = 'no-cache, private'
/** What Fastify gives an object, as most responses have it. */
const JSON_TYPE = 'application/json; charset=utf-8'
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/
const NEEDS_CHARSET = /^text\/|^application\/(?:javascript|xhtml\+xml)\b/i
