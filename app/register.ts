import { subscribe } from 'node:diagnostics_channel'
import type { FastifyInstance } from 'fastify'
import { preload } from './hindsight.js'
import { importModules } from './observe.js'
import { isPageServer } from './page-server.js'
import { preloadOptions } from './preload-options.js'

// The preload, `node --import fastify-hindsight/register app.js`: the plugin in every application of the process, registered when it is made.
const options = preloadOptions()
// Loaded beside the application. No await: a preload by `--require` cannot have one.
if (options.debug === true) importModules().then(async ({ loadPages }) => { await loadPages() }).catch(() => {})
subscribe('fastify.initialization', (message) => {
  if (!isPageServer()) preload((message as { fastify: FastifyInstance }).fastify, options)
})
