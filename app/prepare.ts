import type { FastifyInstance } from 'fastify'
import type { Plan } from './hindsight.js'
import { debugAccess } from '../lib/http/debug-access.js'
import { editorLink } from '../lib/view/editor.js'
import { createMask } from '../lib/mask/mask.js'
import { originResolver } from '../lib/http/origin.js'
import { collectPolicy } from '../lib/profiler/collect-policy.js'
import { checkCollectors } from '../lib/profiler/collector.js'
import { checkStorageSetting } from '../lib/profiler/storage/open.js'

/**
 * Checks the values of options, and adds the services of requests: masking, their origin, who may see the debug
 * surface, and links to the editor. Throws at an invalid value, with the option's name.
 */
export function prepare (app: FastifyInstance, { options, settings }: Plan): void {
  if (settings !== null) {
    collectPolicy(settings)
    checkCollectors(settings.collectors ?? [])
    checkStorageSetting(settings.storage)
  }
  const originOf = originResolver(options)
  Object.assign(app.hindsight, {
    mask: createMask(options.mask ?? []),
    originOf,
    editor: editorLink(options),
    ...debugAccess(app, app.hindsight.debug, originOf, options)
  })
}
