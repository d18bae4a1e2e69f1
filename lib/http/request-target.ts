import type { FastifyRequest } from 'fastify'
import { headerText } from './header-text.js'
import { kTarget, pathOf } from './malformed.js'

/** The target as the client sent it: path and query, percent-encoding kept. */
export function targetOf (request: FastifyRequest): string {
  const { raw } = request
  return headerText(pathOf(raw[kTarget] ?? request.originalUrl))
}

/** The target's path, without query and fragment. */
export function pathnameOf (request: FastifyRequest): string {
  const target = targetOf(request)
  const end = target.search(/[?#]/)
  return end === -1 ? target : target.slice(0, end)
}
