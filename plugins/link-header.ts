import type { FastifyRequest } from 'fastify'
import { headerValues, routeConfigOf, routeName } from 'fastify-hindsight/recorder'
import { stateOf } from '../lib/state.js'
import { links as linksPart } from '../lib/parts/listeners.js'
import { addLink, serializeLink, type LinkAttributes } from '../lib/link.js'
import { defineListener, Skip, notConfigured } from '../lib/listener.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Adds a link to the `Link` header of the response (RFC 8288). */
    addLink (rel: string, href: string, attributes?: LinkAttributes): void
  }
}

const failed = new Skip('the response is about an error')

/** Sets `Link` from the route's `links` and from `request.addLink`, after the values that the header already has. */
export const linkHeader = defineListener('kernel.response', 'link-header', (app) => {
  const { mask } = app.hindsight
  app.decorateRequest('addLink', function (
    this: FastifyRequest, rel: string, href: string, attributes?: LinkAttributes
  ) {
    addLink(this, { rel, href, ...(attributes !== undefined && { attributes }) })
  })
  app.addHook('onRoute', function checkLinks (route) {
    try {
      route.config?.links?.forEach(serializeLink)
    } catch (error) {
      throw new Error(`Route "${routeName(route)}": links: ${(error as Error).message}`, { cause: error })
    }
  })

  return (request, reply) => {
    const state = stateOf(request)
    const route = routeConfigOf(request)?.links ?? []
    const added = state.links ?? []
    if (route.length === 0 && added.length === 0) return notConfigured
    if (state.failed) return failed
    state.trace.collect(linksPart, () => mask.value({ route, added }))
    const before = headerValues(reply, 'link')
    reply.header('link', [...new Set([...before, ...[...route, ...added].map(serializeLink)])].join(', '))
  }
})
