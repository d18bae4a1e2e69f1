import type { FastifyInstance } from 'fastify'
import type { LastHook } from '../recording/hooks.js'
import type { HindsightOptions } from '../options.js'
import { checkBudgets } from './queries/budget.js'
import { compareMessages } from './wire/collector.js'

/** Adds the `onRoute` hooks of parts, in debug mode. They come before the routes: the other code of parts is later. */
export function addRouteHooks (app: FastifyInstance, { queryBudget }: HindsightOptions): void {
  checkBudgets(app, queryBudget)
}

/** Adds the hooks of parts for requests, in debug mode. Returns those that run after the hooks of the application. */
export function addRequestHooks (app: FastifyInstance): Record<string, LastHook> {
  return compareMessages(app)
}
