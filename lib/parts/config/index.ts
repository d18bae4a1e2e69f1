import type { Data } from '../data.js'
import { fieldsPart } from '../fields.js'
import type { Values } from '../section-builder.js'

/** Versions, and a hash of the options. */
export const config = fieldsPart('config', 'Configuration', 'environment', 'Versions', {
  differences: [{ order: 90, values: environmentOf }]
})

/** Code, configuration and versions. */
function environmentOf ({ revision, mode, lifecycle, node, fastify, hindsight, dependencies, id }: Data): Values {
  const versions = String(dependencies ?? '').split(' ').filter((word) => word !== '')
    .map((word) => word.split(/@(?=[^@]*$)/)).map(([name, version]) => [`dependency ${name}`, version])
  return {
    'code revision (git)': revision,
    'configuration NODE_ENV': mode,
    'Node.js': node,
    'configuration lifecycle': lifecycle,
    Fastify: fastify,
    Hindsight: hindsight,
    ...Object.fromEntries(versions) as Values,
    // It covers the options, which are not stored.
    'configuration id': id
  }
}
