import { compare, fewVariants, variants } from '../../observe/compare.js'
import type { Observations } from '../../observe/observe.js'
import { observations } from '../../observe/processes.js'

/** What the application does without Hindsight. */
const bare = observations(undefined, variants)
/** Where any plugin is awaited, Fastify makes the context of its 404 before the application sets a factory of loggers. */
const CHANGED_BY_AWAIT = 'child loggers'

const awaited = observations('empty', variants.filter((name) => name === CHANGED_BY_AWAIT))
const awaiting = async (): Promise<Observations> => ({ ...await bare, ...await awaited })

compare([
  ['the plugin', 'debug surface', awaiting, async () => await observations('debug', variants)],
  ['the plugin in production', 'nothing', awaiting, async () => await observations('production', fewVariants, { environment: 'production' })]
])
