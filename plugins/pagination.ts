import type { FastifyRequest } from 'fastify'
import { listener, Skip } from '../lib/lifecycle/listener.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { routeConfigOf } from '../lib/lifecycle/request-state.js'
import { Page } from '../lib/pagination/page.js'
import { assertPaginationSettings, paginationRule, readPagination, type Pagination, type PaginationRule, type PaginationSettings, type RoutePagination } from '../lib/pagination/rule.js'

export interface PaginationOptions {
  /** How the query's fields are called, and what holds for routes that do not say. */
  pagination?: PaginationSettings
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route answers in pages. */
    pagination?: true | RoutePagination
  }
  interface FastifyRequest {
    /** The page that the query asks for; null on a route that declares no pagination. */
    pagination: Pagination | null
    /**
     * The page among all, once the number of items is known; adds the relations `first`, `prev`, `next` and `last`
     * to the `Link` header, unless `links` is false.
     */
    paginate (total: number, options?: { links?: boolean }): Page
  }
}

const notConfigured = new Skip('not configured')

/** Reads page, limit, sort and direction of routes that answer in pages; refuses what is none of them. */
export const pagination = listener('kernel.request', 'pagination', (app, { pagination: settings = {} }: PaginationOptions) => {
  assertPaginationSettings(settings)
  const ofAll = paginationRule('pagination', true, settings)
  const rules = new WeakMap<object, PaginationRule>()
  app.addHook('onRoute', function readRule ({ config, method, url }) {
    const declared = config?.pagination
    if (declared === undefined || declared === true) return
    rules.set(declared, paginationRule(`Route "${config?.name ?? `${[method].flat().join('|')} ${url}`}"`, declared, settings))
  })

  function ruleOf (request: FastifyRequest): PaginationRule | null {
    const declared = routeConfigOf(request)?.pagination
    if (declared === undefined) return null
    return declared === true ? ofAll : rules.get(declared) ?? null
  }

  app.decorateRequest('pagination', {
    getter (this: FastifyRequest) { return stateOf(this).pagination ?? null },
    setter (this: FastifyRequest, own: Pagination | null) { stateOf(this).pagination = own }
  })
  app.decorateRequest('paginate', function (this: FastifyRequest, total: number, { links = true }: { links?: boolean } = {}): Page {
    const rule = ruleOf(this)
    const state = stateOf(this)
    const asked = state.pagination ?? null
    if (rule === null || asked === null) throw new Error(`paginate: the route "${state.route?.name ?? this.url}" declares no pagination in its config`)
    const page = new Page(this, asked, rule, total)
    if (links) page.addLinks(this)
    if (state.observed) state.collect('pagination', { ...asked, total, pages: page.pages, fields: rule.names, sortable: rule.sort, maxLimit: rule.maxLimit })
    return page
  })

  return (request) => {
    const rule = ruleOf(request)
    if (rule === null) return notConfigured
    const found = readPagination(rule, request)
    const state = stateOf(request)
    state.pagination = found
    if (state.observed) state.collect('pagination', { ...found, fields: rule.names, sortable: rule.sort, maxLimit: rule.maxLimit })
  }
})
