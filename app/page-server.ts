import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { renderShortError } from '../lib/error-page/plain-pages.js'
import { representation } from '../lib/errors/negotiate.js'
import { pathnameOf } from '../lib/http/request-target.js'

const OWN_PATH = /^\/_(?:profiler|wdt|error)(?:\/|$)/

let isOpening = false

/** Whether the private Fastify instance of the pages is being created: the preload ignores it. */
export function isPageServer (): boolean {
  return isOpening
}

/** Makes the function that passes requests to a private Fastify instance; false: the request is not for its pages. */
export function pageServer (app: FastifyInstance): (request: FastifyRequest, reply: FastifyReply) => boolean {
  const { base, closing, mayReceiveDetails, warn } = app.hindsight
  let pages: Promise<FastifyInstance> | null = null
  closing.push(async () => { await pages?.then(async (instance) => { await instance.close() }, () => {}) })
  return (request, reply) => {
    const path = pathnameOf(request)
    if (!path.startsWith(base) || !OWN_PATH.test(path.slice(base.length)) || !mayReceiveDetails(request)) return false
    reply.hijack()
    pages ??= openPages(app)
    pages.then((instance) => { instance.routing(request.raw, reply.raw) }, (error: unknown) => {
      warn('The pages of the profiler could not be opened', error)
      reply.raw.writeHead(503).end()
    })
    return true
  }
}

// Loaded with the first page, so that modules that the application instruments are loaded after that.
async function openPages ({ hindsight }: FastifyInstance): Promise<FastifyInstance> {
  const { default: Fastify } = await import('fastify')
  isOpening = true
  const pages = Fastify({ logger: false })
  isOpening = false
  pages.decorate('hindsight', hindsight)
  pages.setErrorHandler(({ statusCode = 500, message }: FastifyError, request, reply) => {
    return answer(statusCode, request, reply, statusCode < 500 ? message : undefined)
  })
  pages.setNotFoundHandler((request, reply) => {
    const list = `${hindsight.base}/_profiler`
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (!isRead || request.url.split('?')[0] !== list) return answer(404, request, reply)
    return reply.redirect(`${list}/${request.url.slice(list.length)}`, 301)
  })
  await registerPages(pages, hindsight.base)
  await pages.ready()
  return pages
}

/** Registers the routes of the profiler; `onlyProfiler`: without the toolbar and the reports of the browser. */
export async function registerPages (app: FastifyInstance, base: string, onlyProfiler = false): Promise<void> {
  const { default: profilerRoutes } = await import('../routes/_profiler/index.js')
  await app.register(profilerRoutes, { prefix: `${base}/_profiler` })
  if (onlyProfiler) return
  const { default: toolbarRoutes } = await import('../routes/_wdt/index.js')
  const { default: errorRoutes } = await import('../routes/_error/index.js')
  await app.register(toolbarRoutes, { prefix: `${base}/_wdt` })
  await app.register(errorRoutes, { prefix: `${base}/_error` })
}

function answer (status: number, request: FastifyRequest, reply: FastifyReply, detail?: string): FastifyReply {
  const { type, contentType } = representation(request.headers.accept)
  reply.code(status).header('vary', 'accept').header('content-type', contentType)
  return reply.send(renderShortError(status, type, { detail }))
}
