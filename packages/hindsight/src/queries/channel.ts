import { channel } from 'node:diagnostics_channel'

/**
 * Queries are published at their beginning, in the asynchronous context of the code that sent them. A channel also
 * connects the copies of this package in one process, and modules that are loaded before the application.
 */
export const QUERY_CHANNEL = 'fastify-hindsight:query'

export const queries = channel(QUERY_CHANNEL)

const kKinds = Symbol.for('fastify-hindsight.observed-kinds')

/** The names of the kinds of which a client is observed, in all copies of this package. */
export const observedKinds = (globalThis as { [kKinds]?: Set<string> })[kKinds] ??= new Set()

/** The names and versions of the drivers whose clients the preload observes. */
export const preparedDrivers: string[] = []
/** The same of the clients of queues and schedules, whose jobs it profiles. */
export const preparedQueues: string[] = []
