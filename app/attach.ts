import { subscribe } from 'node:diagnostics_channel'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { openLifecycle } from './hindsight.js'
import { LEAVABLE } from './leave.js'
import type { HindsightOptions } from './options.js'
import { pathnameOf } from '../plugins/kernel/origin.js'
import { ownHook } from '../plugins/kernel/own-hooks.js'

const PAGES = /^\/_profiler(?:\/|$)/

/**
 * Observes an application from outside, from the moment that it is made: it has profiles and diagnostic pages, and otherwise answers as
 * it would without. To be called ahead of its first hook and route.
 */
export function attach (app: FastifyInstance, options: HindsightOptions): void {
  // It has no routes of ours either: whoever prints or counts them sees its own.
  let pages: Promise<FastifyInstance> | null = null
  app.addHook('onRequest', ownHook(function servePages (request, reply, done) {
    if (!PAGES.test(pathnameOf(request)) || !app.hindsight.mayReadDebug(request)) return done()
    reply.hijack()
    pages ??= openPages(app)
    pages.then((pages) => pages.routing(request.raw, reply.raw), (error: unknown) => {
      request.log.error({ err: error, channel: 'profiler' }, 'The pages of the profiler could not be opened')
      reply.raw.writeHead(503).end()
    })
  }))
  const { load } = openLifecycle(app, { ...options, leave: [...LEAVABLE], errorPages: 'asked' }, true)
  app.register(fp(async function attached () { await load() }, { fastify: '5.x', name: 'fastify-hindsight/register' }))
  app.addHook('onClose', async function closePages () {
    await (await pages)?.close()
  })
}

// The pages are an application too, and none that anybody wants to observe.
let isOurs = false

/** Attaches to every application that the process makes from here on. */
export function attachToAll (options: HindsightOptions): void {
  subscribe('fastify.initialization', (message) => {
    if (!isOurs) attach((message as { fastify: FastifyInstance }).fastify, options)
  })
}

// Loaded when somebody asks: what the application does ahead of its own import of Fastify, such as an instrumentation of Node.js's modules, is to have its effect.
async function openPages ({ profiler, hindsight }: FastifyInstance): Promise<FastifyInstance> {
  const { default: Fastify } = await import('fastify')
  const { default: profilerRoutes } = await import('../routes/_profiler/index.js')
  isOurs = true
  const pages = Fastify({ logger: false })
  isOurs = false
  pages.decorate('profiler', profiler)
  pages.decorate('hindsight', hindsight)
  pages.register(profilerRoutes, { prefix: '/_profiler' })
  await pages.ready()
  return pages
}
