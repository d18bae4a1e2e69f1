import { attemptCall } from '../../call.js'
import { observedKinds } from '../../queries/channel.js'
import { require, versionOfFile } from '../../require.js'
import type { TimeBudget } from '../../recording/work-log.js'
import type { BuiltRequest } from '../part.js'

/** Drivers that publish no channel, and what `observe` takes. */
const DRIVERS = [
  { name: 'pg', client: 'pool' },
  { name: 'postgres', client: 'sql' },
  { name: 'better-sqlite3', client: 'database' },
  { name: 'mongodb', client: 'client' }
]
/** The share of a request that waits for neither a query nor a call: from here on its page names the driver. */
const LEAST_SHARE = 0.2

export interface UnseenDriver { name: string, version: string, client: string }

/** The drivers that are loaded and of which no client is observed, for a request that may have waited for one. */
export function unseenData ({ trace, collectors }: BuiltRequest): { unseen: UnseenDriver[] } | undefined {
  const { services: { debug, settings }, recording: { timing } } = trace
  if (!debug || settings.queries === false || collectors.queries !== undefined) return undefined
  const { budget = {} } = Object(collectors.performance) as { budget?: Partial<TimeBudget> }
  // A timer or a socket may be that of the driver.
  const others = (budget.work ?? []).filter(({ one }) => one !== 'call')
  const waiting = others.reduce((sum, { duration }) => sum + duration, budget.waiting ?? 0)
  if (waiting === 0 || waiting < LEAST_SHARE * (timing.endedAt - timing.startedAt)) return undefined
  const unseen = unseenDrivers()
  return unseen.length === 0 ? undefined : { unseen }
}

function unseenDrivers (): UnseenDriver[] {
  const files = Object.keys(require.cache)
  return DRIVERS.flatMap(({ name, client }) => {
    // A kind is named by its objects and their driver: `MongoClient of mongodb`.
    const isObserved = [...observedKinds].some((kind) => new RegExp(` of ${name}(?:,|$)`).test(kind))
    if (isObserved) return []
    const version = attemptCall(() => loadedVersion(files, name))
    if (version === undefined) return []
    return [{ name, version, client }]
  })
}

function loadedVersion (files: readonly string[], name: string): string | undefined {
  for (const file of files) {
    const version = versionOfFile(file, name)
    if (version !== undefined) return version
  }
  return undefined
}

/** That the queries of a driver are not recorded, and what records them. */
export function unseenSentence ({ name, version, client }: UnseenDriver): string {
  const preload = '--import fastify-hindsight/register'
  const [, script = ''] = process.argv
  // These start the process themselves.
  const isStarted = /[\\/](?:fastify-cli|@nestjs)[\\/]|[\\/]\.bin[\\/](?:fastify|nest)$/.test(script)
  const start = isStarted ? `set NODE_OPTIONS to "${preload}"` : `start Node.js with ${preload}`
  return `${name} ${version} is loaded, and its queries are not recorded: ${start}, or call observe(${client})`
}
