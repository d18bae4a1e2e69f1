import type { FastifyRequest } from 'fastify'
import { stateOf } from './request-state.js'

/** What listeners know about a request: `_route`, and the path parameters by their names. */
export function attributesOf (request: FastifyRequest): Record<string, unknown> {
  const state = stateOf(request)
  return (state.attributeValues ??= { _route: state.route?.name ?? null, ...state.route?.params })
}
