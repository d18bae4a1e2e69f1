import Fastify, { type FastifyInstance } from 'fastify'
import { service } from '../../app/service.js'
import { hindsight } from '../../packages/hindsight/src/hindsight.js'
import type { HindsightOptions } from '../../packages/hindsight/src/options.js'
import { boundConnections, serverOptions } from '../../lib/server-options.js'
import { FEATURES, hello, storeFolder, type Variants } from './shared.js'

// As `npm start` has them.
function bounded (): FastifyInstance {
  const app = Fastify(serverOptions()) as unknown as FastifyInstance
  boundConnections(app, {})
  return app
}

async function withHindsight (options: HindsightOptions): Promise<FastifyInstance> {
  const app = bounded()
  await app.register(service, { ...FEATURES, ...options })
  return app
}

export function debugging (options: HindsightOptions = {}): Promise<FastifyInstance> {
  return withHindsight({ debug: true, profiler: { storage: 'sqlite', dataDir: storeFolder() }, ...options })
}

/** Hindsight in its modes. */
export const variants: Variants = {
  'hindsight:production': async () => hello(await withHindsight({})),
  'hindsight:observe': async () => {
    const app = Fastify()
    await app.register(hindsight, { debug: false })
    return hello(app)
  },
  'hindsight:errors': async () => {
    return hello(await withHindsight({ profiler: { production: true, onlyExceptions: true, dataDir: storeFolder() } }))
  },
  'hindsight:debug': async () => hello(await debugging()),
  'hindsight:debug-observe': async () => {
    const app = Fastify()
    await app.register(hindsight, { debug: true, profiler: { storage: 'sqlite', dataDir: storeFolder() } })
    return hello(app)
  }
}
