import type { FastifyRequest } from 'fastify'
import { listener, Skip } from '../lib/lifecycle/listener.js'
import { routeConfigOf, stateOf } from '../lib/lifecycle/request-state.js'
import { Page } from '../lib/pagination/page.js'
import {
  paginationRule, readPagination, type Pagination, type PaginationRule, type RoutePagination
} from '../lib/pagination/rule.js'
import { checkAttributes } from '../lib/routing/attribute-schema.js'
import { routeName } from '../lib/routing/route-table.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The pagination of the route. */
    pagination?: true | RoutePagination
  }
  interface FastifyRequest {
    /** The page that the query requests; null on a route without pagination. */
    pagination: Pagination | null
    /**
     * The page among all, once the number of items is known; adds the relations `first`, `prev`, `next` and `last`
     * to the `Link` header, unless `links` is false.
     */
    paginate (total: number, options?: { links?: boolean }): Page
  }
}

const notConfigured = new Skip('not configured')

/**
 * Reads page, limit, sort and direction from the query, on routes with pagination; invalid values are a bad request.
 */
export const pagination = listener('kernel.request', 'pagination', (app, { pagination: settings = {} }) => {
  const { defaultLimit = 20, maxLimit = 100 } = settings
  if (defaultLimit > maxLimit) {
    throw new Error(`pagination.defaultLimit is ${defaultLimit}, more than maxLimit, which is ${maxLimit}`)
  }
  const rules = new Map<true | RoutePagination, PaginationRule>()
  app.addHook('onRoute', function readRule (route) {
    const declared = route.config?.pagination
    if (declared === undefined) return
    checkAttributes(routeName(route), { pagination: declared })
    rules.set(declared, paginationRule(`Route "${routeName(route)}": config.pagination`, declared, settings))
  })

  function ruleOf (request: FastifyRequest): PaginationRule | undefined {
    const declared = routeConfigOf(request)?.pagination
    return declared === undefined ? undefined : rules.get(declared)
  }

  app.decorateRequest('pagination', {
    getter (this: FastifyRequest) { return stateOf(this).pagination ?? null },
    setter (this: FastifyRequest, own: Pagination | null) { stateOf(this).pagination = own }
  })
  function collect (request: FastifyRequest, { sort, maxLimit }: PaginationRule, page: object): void {
    stateOf(request).collect('pagination', { ...page, sortable: sort, maxLimit })
  }
  app.decorateRequest('paginate', function (this: FastifyRequest, total: number, options?: { links?: boolean }): Page {
    const rule = ruleOf(this)
    const { pagination, route } = stateOf(this)
    if (rule === undefined || !pagination) {
      throw new Error(`paginate: the route "${route?.name ?? this.url}" declares no pagination in its config`)
    }
    const page = new Page(this, pagination, total)
    if (options?.links !== false) page.addLinks(this)
    collect(this, rule, { ...pagination, total, pages: page.pages })
    return page
  })

  return (request) => {
    const rule = ruleOf(request)
    if (rule === undefined) return notConfigured
    const found = readPagination(rule, request)
    stateOf(request).pagination = found
    collect(request, rule, found)
  }
})
