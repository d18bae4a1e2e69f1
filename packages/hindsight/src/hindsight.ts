import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { beginServices } from './begin.js'
import { performance } from './clock.js'
import { beginObservation } from './observe.js'
import type { HindsightOptions } from './options.js'
import { checkStorageSetting } from './store/open.js'

let meta = { fastify: '5.x || 6.x', name: 'fastify-hindsight' }
/** Where the plugin was registered since it was called, as stacks. */
const registrations: Error[] = []

/**
 * The plugin. Rejects for an option that is unknown or wrong, with the option's name and
 * the calls of its registration.
 */
export const hindsight = fp(async function hindsight (app: FastifyInstance, options: HindsightOptions) {
  const registered = registrations.splice(0)
  await open(app, options).catch(async (error: unknown) => {
    throw (await import('./errors/failed-start.js')).withRegistration(error, registered)
  })
}, meta)
// `register` reads the name of a plugin. The plugin itself is called later, without the calls of the application.
Object.defineProperty(hindsight, Symbol.for('plugin-meta'), {
  get () {
    registrations.push(new Error())
    return meta
  },
  // An application may wrap the plugin by fastify-plugin once more.
  set (given: typeof meta) { meta = given }
})

async function open (app: FastifyInstance, options: HindsightOptions): Promise<void> {
  const started = performance.now()
  const opening = beginServices(app, options)
  checkStorageSetting(opening.settings?.storage)
  const { debug, recording, warn } = opening.setup
  if (app.pluginName.split(' -> ')[0] !== 'fastify' && debug) {
    warn('fastify-hindsight is registered in an encapsulated plugin: requests outside of it, and ' +
      'those without a route, have no diagnostic pages and profiles. Register it at the root; a plugin of ' +
      'fastify-cli is at the root if fastify-plugin wraps it.')
  }
  if (recording !== 'none') await beginObservation(app, opening, started).ready
}
