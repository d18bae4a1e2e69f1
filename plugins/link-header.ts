import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { isInjection } from 'light-my-request'
import { addLink, serializeLink, type Link, type LinkAttributes } from '../lib/http/link.js'
import { listener, Skip } from '../lib/lifecycle/listener.js'
import { routeConfigOf, stateOf } from '../lib/lifecycle/request-state.js'
import { routeName } from '../lib/routing/route-table.js'

export interface LinkHeaderOptions {
  /**
   * Whether the links of a route that a browser can use early are sent before the handler runs, as `103 Early Hints`
   * (RFC 8297); false by default.
   */
  earlyHints?: boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Adds a link to the `Link` header of the response (RFC 8288). */
    addLink (rel: string, href: string, attributes?: LinkAttributes): void
  }
}

// `writeEarlyHints` accepts fewer forms than RFC 8288: no space in a value, for example.
const HINTABLE = /^<[^>]*>(?:; [^;"\s=]+(?:="[^;"\s]*")?)*$/
const EARLY = ['preload', 'preconnect', 'modulepreload']
const notConfigured = new Skip('not configured')
const failed = new Skip('the response is about an error')

/** Sets `Link` from the route's `links` and from `request.addLink`, after the values that the header already has. */
export const linkHeader = listener('kernel.response', 'link-header', (
  app, { earlyHints = false }: LinkHeaderOptions
) => {
  const { mask } = app.hindsight
  app.decorateRequest('addLink', function (
    this: FastifyRequest, rel: string, href: string, attributes?: LinkAttributes
  ) {
    addLink(this, { rel, href, ...(attributes !== undefined && { attributes }) })
  })
  app.addHook('onRoute', function checkLinks (route) {
    const hints = hintsOf(route)
    if (!earlyHints || hints.length === 0) return
    // The last preHandler: the guards of the route have let the request pass.
    route.preHandler = [...[route.preHandler ?? []].flat(), hintsSender(hints)]
  })

  return (request, reply) => {
    const state = stateOf(request)
    const route = routeConfigOf(request)?.links ?? []
    const added = state.links ?? []
    if (route.length === 0 && added.length === 0) return notConfigured
    if (state.failed) return failed
    if (state.observed) {
      state.collect(
        'links', () => mask.value({ route, added, earlyHints: earlyHints ? hintsOf(request.routeOptions) : [] })
      )
    }
    const before = [reply.getHeader('link') ?? []].flat().map(String)
    reply.header('link', [...new Set([...before, ...[...route, ...added].map(serializeLink)])].join(', '))
  }
})

function hintsSender (hints: string[]): (request: FastifyRequest, reply: FastifyReply, done: () => void) => void {
  return function sendEarlyHints (request, reply, done) {
    if (takesHints(request, reply)) {
      try {
        reply.raw.writeEarlyHints({ link: hints })
      } catch (error) {
        request.log.debug({ err: error, channel: 'link-header' }, 'The early hints could not be sent')
      }
    }
    done()
  }
}

/** The links of a route that can be sent early. Throws with the route's name at a link that cannot be written. */
function hintsOf (route: RouteOptions | FastifyRequest['routeOptions']): string[] {
  try {
    return (route.config?.links ?? [])
      .map((link: Link) => ({ value: serializeLink(link), types: link.rel.split(' ') }))
      .filter(({ value, types }) => HINTABLE.test(value) && types.some((type) => EARLY.includes(type)))
      .map(({ value }) => value)
  } catch (error) {
    throw new Error(`Route "${routeName(route as RouteOptions)}": links: ${(error as Error).message}`, { cause: error })
  }
}

// HTTP/1.0 has no interim responses (RFC 9110, section 15.2).
function takesHints ({ raw, method }: FastifyRequest, reply: FastifyReply): boolean {
  const { httpVersionMajor: major, httpVersionMinor: minor } = raw
  return method === 'GET' && !reply.raw.headersSent && !isInjection(raw) && (major > 1 || (major === 1 && minor >= 1))
}
