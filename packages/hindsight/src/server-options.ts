/** The entry point for server options: they cannot be changed when Fastify is created. */
export { messageOptions } from './http/malformed.js'
