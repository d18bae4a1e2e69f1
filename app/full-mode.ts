/** What an application in `full` mode imports: the same as from index.ts, and the types of what this mode adds. */
export * from '../packages/hindsight/src/index.js'
export { default } from '../packages/hindsight/src/index.js'

// Declarations of requests, replies, instances and the `config` of routes apply to the whole application.
export type {} from '../plugins/asset-reset.js'
export type {} from '../plugins/controller-attributes.js'
export type {} from '../plugins/cors.js'
export type {} from '../plugins/default-locale.js'
export type {} from '../plugins/firewall.js'
export type {} from '../plugins/link-header.js'
export type {} from '../plugins/locale-aware-services.js'
export type {} from '../plugins/logout-url.js'
export type {} from '../plugins/pagination.js'
export type {} from '../plugins/profiler.js'
export type {} from '../plugins/router.js'
export type {} from '@fastify/cookie'
export type {} from '@fastify/helmet'
export type {} from '@fastify/session'
