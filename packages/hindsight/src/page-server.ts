import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { EventEmitter } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { renderShortError } from './error-page/plain-pages.js'
import {
  isRetrieval, MCP_PATH, PAGE_PATHS, PROFILER_SEGMENTS, pathnameOf, pathOf, errorRepresentation
} from './http/requests.js'
import { recordRefused } from './http/refused-message.js'
import { doInternalWork, trackInternalWork } from './recording/event-loop.js'

/** Whether a private Fastify instance is being made: the preload ignores it. */
export let isOpening = false

/** The channel on which Node.js publishes each request before its server emits `request`. */
const REQUEST_START = 'http.server.request.start'

/**
 * The pages of an application, which a private Fastify instance answers. The requests of the network are passed to it
 * before the application's Fastify receives them: they leave no line in its log, take no request id and run none of its
 * hooks.
 */
export function pageServer (app: FastifyInstance) {
  const { base, isDebugClient, mayReceiveDetails, warn } = app.hindsight
  let pages: Promise<FastifyInstance> | null = null
  // As exact as the routes are: other spellings are requests of the application.
  const isProfilerPage = (path: string): boolean =>
    path.startsWith(`${base}/`) && PROFILER_SEGMENTS.includes(path.slice(base.length + 1).split('/', 1)[0] ?? '')
  // These routes themselves refuse the pages of other sites, with the status 403.
  const mayAsk = (path: string, request: FastifyRequest): boolean =>
    [MCP_PATH, ...PAGE_PATHS].includes(path.slice(base.length)) ? isDebugClient(request) : mayReceiveDetails(request)
  function serve (raw: IncomingMessage, response: ServerResponse): void {
    // The application has not blocked its requests meanwhile.
    pages ??= trackInternalWork(async () => await openPages(app))
    pages.then((instance) => { doInternalWork(() => instance.routing(raw, response)) }, (error: unknown) => {
      // The next request may succeed.
      pages = null
      warn('The pages of the profiler could not be opened', error)
      response.writeHead(503, { 'x-content-type-options': 'nosniff' }).end()
    })
  }
  const endSearch = receiveFirst(app, (raw, response) => {
    // Fastify refuses requests then, and closes their connections.
    if (app.hindsight.isClosing) return false
    const path = pathOf(raw.url ?? '/').replace(/[?#].*$/s, '')
    // Access depends on nothing else of a request.
    if (!isProfilerPage(path) || !mayAsk(path, { raw, headers: raw.headers } as FastifyRequest)) return false
    serve(raw, response)
    return true
  })

  return {
    /** Answers other requests for a page, such as injected ones; false: the request is for the application. */
    serve (request: FastifyRequest, reply: FastifyReply): boolean {
      const path = pathnameOf(request)
      if (!isProfilerPage(path) || !mayAsk(path, request)) return false
      reply.hijack()
      serve(request.raw, reply.raw)
      return true
    },
    /** Ends the pages, and the streams of lists that are open: the server waits for these when it closes. */
    async close (): Promise<void> {
      endSearch()
      await pages?.then(async (instance) => { await instance.close() }, () => {})
    }
  }
}

type Receive = (...message: Parameters<RequestListener>) => boolean

/**
 * Calls `receive` for the requests of an application's servers; where it returns false, Fastify receives the request.
 * Fastify is a listener of its servers, which is replaced. Returns the function that ends the search for servers.
 */
function receiveFirst (app: FastifyInstance, receive: Receive): () => void {
  const { routing, server } = app
  const listener: RequestListener = function hindsightListener (raw, response) {
    if (receive(raw, response)) return
    routing(raw, response)
    // What the router refuses is answered in the same turn, and runs no hook.
    if (response.writableEnded && app.hindsight.recorder?.hasBegun(raw) === false) recordRefused(app, raw, response)
  }
  function replaceIn (server: EventEmitter): void {
    const listeners = server.rawListeners('request') as RequestListener[]
    // A server of the application may call Fastify in another way.
    if (!listeners.includes(routing)) return
    server.removeAllListeners('request')
    for (const other of listeners) server.on('request', other === routing ? listener : other)
  }
  // `localhost` may have two addresses: Fastify does not show the server of the second one.
  const onStart = (message: unknown): void => { replaceIn((message as { server: EventEmitter }).server) }
  if (server instanceof EventEmitter) replaceIn(server)
  subscribe(REQUEST_START, onStart)
  return () => { unsubscribe(REQUEST_START, onStart) }
}

/** An instance of Fastify that the preload does not observe. */
export async function privateInstance (): Promise<FastifyInstance> {
  const { default: Fastify } = await import('fastify')
  isOpening = true
  try {
    return Fastify({ logger: false })
  } finally {
    isOpening = false
  }
}

// Loaded with the first page, so that modules that the application instruments are loaded after that.
async function openPages ({ hindsight }: FastifyInstance): Promise<FastifyInstance> {
  const pages = await privateInstance()
  pages.decorate('hindsight', hindsight)
  pages.setErrorHandler(({ statusCode = 500, message }: FastifyError, request, reply) => {
    return answer(statusCode, request, reply, statusCode < 500 ? message : undefined)
  })
  pages.setNotFoundHandler((request, reply) => {
    const list = `${hindsight.base}/_profiler`
    if (!isRetrieval(request) || request.url.split('?')[0] !== list) return answer(404, request, reply)
    return reply.header('x-content-type-options', 'nosniff')
      .redirect(`${list}/${request.url.slice(list.length)}`, 301)
  })
  const { profilerPages } = await import('./routes/profiler-pages.js')
  await pages.register(profilerPages, { base: hindsight.base })
  await pages.ready()
  return pages
}

function answer (status: number, request: FastifyRequest, reply: FastifyReply, detail?: string): FastifyReply {
  const { type, contentType } = errorRepresentation(request.headers.accept)
  reply.code(status).headers({ vary: 'accept', 'content-type': contentType, 'x-content-type-options': 'nosniff' })
  return reply.send(renderShortError(status, type, { detail }))
}
