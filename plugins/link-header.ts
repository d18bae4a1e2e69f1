import { isInjection } from 'light-my-request'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { addLink } from '../lib/http/add-link.js'
import { serializeLink, type Link, type LinkAttributes } from '../lib/http/link.js'
import { listener, Skip } from '../lib/lifecycle/listener.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { routeConfigOf } from '../lib/lifecycle/request-state.js'
import { routeName } from '../lib/routing/route-table.js'

export interface LinkHeaderOptions {
  /** Whether the links of a route that a browser can act on early go out as `103 Early Hints` (RFC 8297), ahead of the handler; false by default. */
  earlyHints?: boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Adds a link to the `Link` header of the response (RFC 8288). */
    addLink (rel: string, href: string, attributes?: LinkAttributes): void
  }
}

interface RouteLinks {
  values: string[]
  hints: string[]
}

// What `writeEarlyHints` takes: fewer forms than the standard, no space in a value for one. The header of the response has all.
const HINTABLE = /^<[^>]*>(?:; [^;"\s=]+(?:="[^;"\s]*")?)*$/
const EARLY = new Set(['preload', 'preconnect', 'modulepreload'])
const NONE: RouteLinks = { values: [], hints: [] }
const notConfigured = new Skip('not configured')
const failed = new Skip('the response is about an error')

/** Sets `Link` from the route's `links` and from what `request.addLink` has added; a header that is there is kept in front. */
export const linkHeader = listener('kernel.response', 'link-header', (app, { earlyHints = false }: LinkHeaderOptions) => {
  const linksOf = new WeakMap<object, RouteLinks>()
  const { mask } = app.hindsight
  app.decorateRequest('addLink', function (this: FastifyRequest, rel: string, href: string, attributes?: LinkAttributes) {
    addLink(this, attributes === undefined ? { rel, href } : { rel, href, attributes })
  })
  app.addHook('onRoute', function serializeLinks (route) {
    const links = route.config?.links
    if (links === undefined) return
    const own = serialized(route, links)
    linksOf.set(links, own)
    if (earlyHints && own.hints.length > 0) hintEarly(route, own.hints)
  })
  function declared (request: FastifyRequest): RouteLinks {
    const links = routeConfigOf(request)?.links
    return links === undefined ? NONE : linksOf.get(links) ?? NONE
  }

  return (request, reply) => {
    const state = stateOf(request)
    const { values, hints } = declared(request)
    const added = state.links
    if (values.length === 0 && added === undefined) return notConfigured
    // The links of a page that could not be made lead nowhere from the page that tells why.
    if (state.failed) return failed
    if (state.observed) {
      const route = routeConfigOf(request)?.links ?? []
      state.collect('links', () => mask.value({ route, added: added ?? [], earlyHints: earlyHints ? hints : [] }))
    }
    const before = [reply.getHeader('link') ?? []].flat().map(String)
    reply.header('link', [...new Set([...before, ...values, ...(added ?? []).map(serializeLink)])].join(', '))
  }
})

function serialized (route: RouteOptions, links: readonly Link[]): RouteLinks {
  // Their shape is the business of the controller-attributes listener.
  const values = links.map((link) => {
    try {
      return serializeLink(link)
    } catch (error) {
      throw new Error(`Route "${routeName(route)}": links: ${(error as Error).message}`, { cause: error })
    }
  })
  return { values, hints: values.filter((value, i) => HINTABLE.test(value) && (links[i] as Link).rel.split(' ').some((type) => EARLY.has(type))) }
}

// Behind all listeners ahead of the handler, and behind the guards of the route itself: who may not see the page is not told what it needs.
function hintEarly (route: RouteOptions, hints: string[]): void {
  const { preHandler = [] } = route
  route.preHandler = [...typeof preHandler === 'function' ? [preHandler] : preHandler, function sendEarlyHints (request: FastifyRequest, reply: FastifyReply, done: () => void): void {
    if (takesHints(request, reply)) {
      try {
        reply.raw.writeEarlyHints({ link: hints })
      } catch (error) {
        request.log.debug({ err: error, channel: 'link-header' }, 'The early hints could not be sent')
      }
    }
    done()
  }]
}

// RFC 8297, section 2: HTTP/1.0 knows no interim responses (RFC 9110, section 15.2).
function takesHints ({ raw, method }: FastifyRequest, reply: FastifyReply): boolean {
  return method === 'GET' && !reply.raw.headersSent && !isInjection(raw) && (raw.httpVersionMajor > 1 || (raw.httpVersionMajor === 1 && raw.httpVersionMinor >= 1))
}
