import Fastify, { type FastifyInstance } from 'fastify'
import { hindsight } from '../../app/hindsight.js'
import type { HindsightOptions } from '../../app/options.js'
import { boundConnections, serverOptions } from '../../app/server-options.js'
import { addHooks, failing, hello, helloWithLines, logging, ORIGIN, SECRET, storeFolder, type Variants } from './shared.js'

const FEATURES = { debug: false, cors: [{ origin: ORIGIN }], session: { secret: SECRET } } satisfies HindsightOptions

// As `npm start` has them.
function bounded (): FastifyInstance {
  const app = Fastify(serverOptions()) as unknown as FastifyInstance
  boundConnections(app)
  return app
}

async function withHindsight (options: HindsightOptions, app: FastifyInstance = bounded()): Promise<FastifyInstance> {
  await app.register(hindsight, { lifecycle: 'full', ...FEATURES, ...options })
  return app
}

function debugging (app?: FastifyInstance): Promise<FastifyInstance> {
  return withHindsight({ debug: true, profiler: { storage: 'sqlite', dataDir: storeFolder() } }, app)
}

/** Hindsight in the modes that it has. */
export const variants: Variants = {
  'hindsight:production': async () => hello(await withHindsight({})),
  'hindsight:errors': async () => hello(await withHindsight({ profiler: { production: true, onlyExceptions: true, dataDir: storeFolder() } })),
  'hindsight:debug': async () => hello(await debugging()),
  'hindsight:debug-in-memory': async () => hello(await withHindsight({ debug: true, profiler: { storage: 'memory' } })),
  'hindsight:debug-unprofiled': async () => hello(await withHindsight({ debug: true, profiler: false })),
  'hindsight:lines': async ({ lines }) => helloWithLines(await debugging(logging()), lines),
  'hindsight:failing': async (options) => failing(await debugging(logging()), options),
  'hindsight:failing-unprofiled': async (options) => failing(await withHindsight({ debug: true, profiler: false }, logging()), options),
  'hindsight:failing-without-maps': async () => {
    const app = await debugging(logging())
    process.setSourceMapsEnabled(false)
    return failing(app)
  },
  'hindsight:routes': async ({ routes = 10 }) => {
    const app = hello(await debugging())
    for (let i = 0; i < routes; i++) app.get(`/section-${i % 10}/page-${i}/:id`, () => ({}))
    return app
  },
  'hindsight:hooks': async ({ hooks = 30 }) => {
    const app = await debugging()
    addHooks(app, hooks)
    return hello(app)
  }
}
