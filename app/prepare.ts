import type { FastifyInstance } from 'fastify'
import type { Plan } from './hindsight.js'
import { debugAccess } from '../plugins/kernel/debug-access.js'
import { editorLink } from '../plugins/kernel/editor.js'
import { createMask } from '../plugins/kernel/mask/mask.js'
import { DEFAULT_MASK_PATTERNS } from '../plugins/kernel/mask/names.js'
import { originResolver } from '../plugins/kernel/origin.js'
import { collectPolicy } from '../plugins/profiler/collect-policy.js'
import { checkCollectors } from '../plugins/profiler/collector.js'
import { demandNames } from '../plugins/profiler/on-demand.js'
import { checkStorageSetting } from '../plugins/profiler/storage/open.js'

/**
 * Checks the values of options, and adds the services of requests: masking, their origin, who may see the debug surface, and links to the editor. Throws at
 * an invalid value, with the option's name.
 */
export function prepare (app: FastifyInstance, { options, settings }: Plan): void {
  if (settings !== null) {
    collectPolicy(settings)
    checkCollectors(settings.collectors ?? [])
    checkStorageSetting(settings.storage)
  }
  const originOf = originResolver(options)
  Object.assign(app.hindsight, {
    mask: createMask([...DEFAULT_MASK_PATTERNS, ...options.mask ?? [], ...demandNames(settings?.onDemand)]),
    originOf,
    editor: editorLink(options),
    ...debugAccess(app, app.hindsight.debug, originOf, options)
  })
}
