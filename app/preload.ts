import { subscribe } from 'node:diagnostics_channel'
import type { FastifyInstance } from 'fastify'
import { preload } from './hindsight.js'
import { isPageServer } from './page-server.js'
import { preloadOptions } from './environment.js'

/** The options of the preload. */
export const options = preloadOptions()

// The plugin in every application of the process, registered when it is made.
subscribe('fastify.initialization', (message) => {
  if (!isPageServer()) preload((message as { fastify: FastifyInstance }).fastify, options)
})
