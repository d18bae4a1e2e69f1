import type { Part } from 'fastify-hindsight/recorder'
import { assets, attributes, cache, links, locale, pagination, params, template } from './listeners.js'
import { security } from './security.js'

/** What profiles of the service have beside the parts of the package, in the order of the menu. */
export const serviceParts: readonly Part[] = [
  params, attributes, security, locale, pagination, cache, links, assets, template
]
