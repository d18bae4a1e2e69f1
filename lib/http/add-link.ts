import type { FastifyRequest } from 'fastify'
import { serializeLink, type Link } from './link.js'
import { stateOf } from '../lifecycle/request-state.js'

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    /** The links that were added beside those of the route. */
    links?: Link[]
  }
}

/** Adds a link to the response of a request; throws where the relation type or an attribute's name is none. */
export function addLink (request: FastifyRequest, link: Link): void {
  // Whoever adds a link learns at once that it cannot be written.
  serializeLink(link);
  (stateOf(request).links ??= []).push(link)
}
