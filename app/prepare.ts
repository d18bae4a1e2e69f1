import type { FastifyInstance } from 'fastify'
import type { Plan } from './hindsight.js'
import { openRequestServices } from '../plugins/kernel/request-services.js'
import { collectPolicy } from '../plugins/profiler/collect-policy.js'
import { checkCollectors } from '../plugins/profiler/collector.js'
import { demandNames } from '../plugins/profiler/on-demand.js'
import { checkStorageSetting } from '../plugins/profiler/storage/open.js'

/** Checks the values of options, and opens the services of requests. Throws at an invalid value, with the option's name. */
export function prepare (app: FastifyInstance, { options, settings }: Plan): void {
  if (settings !== null) {
    collectPolicy(settings)
    checkCollectors(settings.collectors ?? [])
    checkStorageSetting(settings.storage)
  }
  openRequestServices(app, { ...options, mask: [...options.mask ?? [], ...demandNames(settings?.onDemand)] })
}
