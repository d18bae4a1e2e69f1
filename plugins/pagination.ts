import type { FastifyRequest } from 'fastify'
import {
  badRequest, html, pathnameOf, routeConfigOf, routeName, targetOf, type SafeHtml, traceOf
} from 'fastify-hindsight/recorder'
import { checkAttributes } from '../lib/check-options.js'
import type { PaginationSettings, RoutePagination } from '../lib/options.js'
import { stateOf, type Pagination } from '../lib/state.js'
import { addLink } from '../lib/link.js'
import { pagination as paginationPart } from '../lib/parts/listeners.js'
import { defineListener, notConfigured } from '../lib/listener.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The page that the query requests; null on a route without pagination. */
    pagination: Pagination | null
    /** The page among `total` items; adds `first`, `prev`, `next` and `last` to `Link`, unless `links` is false. */
    paginate (total: number, options?: { links?: boolean }): Page
  }
}

/** Keeps the product of page and limit a safe integer. */
const MAX_PAGE = 999_999_999

/** Reads page, limit, sort and direction from the query, on routes with pagination. Invalid values: 400. */
export const pagination = defineListener('kernel.request', 'pagination', (app, { pagination: settings = {} }) => {
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
    return declared && rules.get(declared)
  }

  app.decorateRequest('pagination', {
    getter (this: FastifyRequest) { return stateOf(this).pagination ?? null },
    setter (this: FastifyRequest, found: Pagination | null) { stateOf(this).pagination = found }
  })
  function collect (request: FastifyRequest, { sort, maxLimit }: PaginationRule, page: object): void {
    traceOf(request).collect(paginationPart, { ...page, sortable: sort, maxLimit })
  }
  app.decorateRequest('paginate', function (this: FastifyRequest, total: number, options?: { links?: boolean }): Page {
    const rule = ruleOf(this)
    const { pagination, route } = stateOf(this)
    if (rule === undefined || !pagination) {
      throw new Error(`paginate: the route "${route?.name ?? this.url}" declares no pagination in its config`)
    }
    const page = pageOf(this, pagination, total)
    if (options?.links !== false) addLinks(this, page)
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

/** One page of a sliding window. */
interface PageLink {
  page: number
  /** The path and query of that page; all other query parameters are kept. */
  url: string
  current: boolean
}

/** The pages around the current one, and its neighbors; null where there is no such page. */
type SlidingWindow = ReturnType<Page['slidingWindow']>

/** The texts of the markup. Default: `Pages`, `Previous`, `Next` and `…`. */
type SlidingWindowLabels = Partial<Record<'label' | 'previous' | 'next' | 'gap', string>>

/** The page that a request names, among all. */
type Page = ReturnType<typeof pageOf>

function pageOf (request: FastifyRequest, pagination: Pagination, total: number) {
  if (!Number.isSafeInteger(total) || total < 0) {
    throw new Error(`paginate: the total must be a whole number from 0, not ${String(total)}`)
  }
  const { page, limit } = pagination
  // Without items there is one empty page.
  const pages = Math.max(1, Math.ceil(total / limit))
  // After the last page, the previous page is the last one.
  const previous = page > 1 ? Math.min(page - 1, pages) : null
  const next = page < pages ? page + 1 : null
  const { prefix } = traceOf(request).services.originOf(request)
  const path = pathnameOf(request)
  const query = new URLSearchParams(targetOf(request).slice(path.length).replace(/#.*$/s, ''))
  // Two slashes at the start would be another host (RFC 3986, section 4.2).
  const base = prefix + (prefix === '' && path.startsWith('//') ? `/.${path}` : path)

  /** The path and query of another page. */
  function url (page: number): string {
    query.set('page', String(page))
    return `${base}?${query.toString()}`
  }

  function link (number: number): PageLink {
    return { page: number, url: url(number), current: number === page }
  }

  /** Up to `size` pages around the current one. */
  function slidingWindow (size = 7) {
    const length = Math.max(1, Math.min(size, pages))
    const start = Math.min(Math.max(1, Math.min(page, pages) - Math.floor(length / 2)), pages - length + 1)
    return {
      first: link(1),
      previous: previous === null ? null : link(previous),
      pages: Array.from({ length }, (_, i) => link(start + i)),
      next: next === null ? null : link(next),
      last: link(pages)
    }
  }

  /** The sliding window as markup, every value escaped; empty where there is only one page. */
  function html (size?: number, labels?: SlidingWindowLabels): string {
    if (pages === 1 && page === 1) return ''
    return slidingWindowHtml(slidingWindow(size), labels)
  }

  return { ...pagination, total, pages, previous, next, url, slidingWindow, html }
}

/** Adds the relations `first`, `prev`, `next` and `last` to the response (RFC 8288; RFC 5005, section 3). */
function addLinks (request: FastifyRequest, { pages, previous, next, url }: Page): void {
  for (const [rel, page] of Object.entries({ first: 1, prev: previous, next, last: pages })) {
    if (page !== null) addLink(request, { rel, href: url(page) })
  }
}

/** A sliding window as a list of links, with the first and the last page where they lie outside of it. */
function slidingWindowHtml (
  { first, previous, pages, next, last }: SlidingWindow, labels: SlidingWindowLabels = {}
): string {
  const { label = 'Pages', previous: previousLabel = 'Previous', next: nextLabel = 'Next', gap = '…' } = labels
  const start = (pages[0] as PageLink).page
  const end = (pages.at(-1) as PageLink).page
  const items = [
    previous !== null && html`<li class="previous"><a rel="prev" href="${previous.url}">${previousLabel}</a></li>`,
    start > 1 && item(first),
    start > 2 && html`<li class="gap">${gap}</li>`,
    pages.map(item),
    end < last.page - 1 && html`<li class="gap">${gap}</li>`,
    end < last.page && item(last),
    next !== null && html`<li class="next"><a rel="next" href="${next.url}">${nextLabel}</a></li>`
  ]
  return String(html`<nav class="pagination" aria-label="${label}"><ul>${items}</ul></nav>`)
}

function item ({ page, url, current }: PageLink): SafeHtml {
  return html`<li><a href="${url}"${current && html` aria-current="page"`}>${page}</a></li>`
}

/** A route's pagination with all defaults. */
type PaginationRule = ReturnType<typeof paginationRule>

/** The rule of a route. Throws where values contradict each other, with an error that begins with `where`. */
function paginationRule (
  where: string, declared: true | RoutePagination, settings: PaginationSettings
) {
  const given = declared === true ? {} : declared
  const { defaultLimit = 20, maxLimit: maxOfAll = 100 } = settings
  const { maxLimit = Math.max(maxOfAll, given.limit ?? 0), sort = [], defaultSort = null, direction = 'asc' } = given
  const { limit = Math.min(defaultLimit, maxLimit) } = given
  if (limit > maxLimit) throw new Error(`${where}.limit is ${limit}, more than maxLimit, which is ${maxLimit}`)
  if (defaultSort !== null && !sort.includes(defaultSort)) {
    throw new Error(`${where}.defaultSort "${defaultSort}" is none of sort (${sort.join(', ')})`)
  }
  return { limit, maxLimit, sort, defaultSort, direction }
}

/** The page that a query requests. Throws a bad-request error that names the field and its valid values. */
function readPagination (rule: PaginationRule, { query }: FastifyRequest): Pagination {
  const fields = (query ?? {}) as Record<string, unknown>
  const limit = readNumber(fields, 'limit', rule.maxLimit) ?? rule.limit
  const page = readNumber(fields, 'page', MAX_PAGE) ?? 1
  const sort = readText(fields, 'sort')
  if (sort !== undefined && !rule.sort.includes(sort)) {
    const problem = rule.sort.length === 0
      ? 'this route has no sortable fields'
      : `"${sort}" is none of ${rule.sort.join(', ')}`
    throw badRequest(`Invalid "sort": ${problem}.`)
  }
  const direction = readText(fields, 'direction') ?? rule.direction
  if (direction !== 'asc' && direction !== 'desc') {
    throw badRequest(`Invalid "direction": "${direction}" is neither asc nor desc.`)
  }
  return { page, limit, offset: (page - 1) * limit, sort: sort ?? rule.defaultSort, direction }
}

function readNumber (fields: Record<string, unknown>, name: string, max: number): number | undefined {
  const text = readText(fields, name)
  if (text === undefined) return undefined
  if (/^[1-9]\d*$/.test(text) && Number(text) <= max) return Number(text)
  throw badRequest(`Invalid "${name}": "${text}" is not a whole number from 1 to ${max}.`)
}

function readText (fields: Record<string, unknown>, name: string): string | undefined {
  if (!Object.hasOwn(fields, name)) return undefined
  const value = fields[name]
  if (value === undefined || typeof value === 'string') return value
  throw badRequest(`Invalid "${name}": it may be given only once, as plain text.`)
}
