import type { FastifyInstance } from 'fastify'
import { debugAccess } from './debug-access.js'
import { editorLink } from './editor.js'
import { createMask } from './mask/mask.js'
import { DEFAULT_MASK_PATTERNS } from './mask/names.js'
import { originResolver } from './origin.js'
import type { KernelOptions } from './services.js'

/** Adds the services of requests: masking, their origin, who may see the debug surface, and links to the editor. Throws at an option that is not valid. */
export function openRequestServices (app: FastifyInstance, options: KernelOptions): void {
  const originOf = originResolver(options)
  Object.assign(app.hindsight, {
    mask: createMask([...DEFAULT_MASK_PATTERNS, ...options.mask ?? []]),
    originOf,
    editor: editorLink(options),
    ...debugAccess(app, app.hindsight.debug, originOf, options)
  })
}
