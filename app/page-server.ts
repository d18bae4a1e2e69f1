import { STATUS_CODES } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { representation } from '../lib/errors/negotiate.js'
import { renderProductionError } from '../lib/error-page/plain-pages.js'

let isOpening = false

/** Whether the Fastify instance that is being made is the private one of our pages. */
export function isPageServer (): boolean {
  return isOpening
}

/** Makes the function that answers requests for the profiler's pages by a private Fastify instance: the application has no route, hook or schema of them. */
export function pageServer (app: FastifyInstance): (request: FastifyRequest, reply: FastifyReply) => void {
  let pages: Promise<FastifyInstance> | null = null
  app.hindsight.closing.push(async () => { await pages?.then(async (instance) => { await instance.close() }, () => {}) })
  return (request, reply) => {
    reply.hijack()
    pages ??= openPages(app)
    pages.then((instance) => { instance.routing(request.raw, reply.raw) }, (error: unknown) => {
      app.hindsight.warn('The pages of the profiler could not be opened', error)
      reply.raw.writeHead(503).end()
    })
  }
}

// Loaded with the first page, so that modules that the application instruments are loaded after that.
async function openPages ({ hindsight }: FastifyInstance): Promise<FastifyInstance> {
  const { default: Fastify } = await import('fastify')
  const { default: profilerRoutes } = await import('../routes/_profiler/index.js')
  const { default: toolbarRoutes } = await import('../routes/_wdt/index.js')
  const { default: errorRoutes } = await import('../routes/_error/index.js')
  isOpening = true
  const pages = Fastify({ logger: false })
  isOpening = false
  pages.decorate('hindsight', hindsight)
  pages.setErrorHandler((error: { statusCode?: number }, request, reply) => answer(error.statusCode ?? 500, request, reply))
  pages.setNotFoundHandler((request, reply) => {
    const list = `${hindsight.base}/_profiler`
    return request.url.split('?')[0] === list ? reply.redirect(`${list}/`, 301) : answer(404, request, reply)
  })
  pages.register(profilerRoutes, { prefix: `${hindsight.base}/_profiler` })
  pages.register(toolbarRoutes, { prefix: `${hindsight.base}/_wdt` })
  pages.register(errorRoutes, { prefix: `${hindsight.base}/_error` })
  await pages.ready()
  return pages
}

function answer (status: number, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { type, contentType } = representation(request.headers.accept)
  return reply.code(status).header('vary', 'accept').header('content-type', contentType).send(renderProductionError(status, STATUS_CODES[status] ?? 'Error', type))
}
