import { dirname } from 'node:path'
import { attemptCall } from '../../call.js'
import { observedKinds, preparedDrivers } from '../../queries/channel.js'
import { require, versionOfFile } from '../../require.js'
import type { TimeBudget } from '../../recording/work-log.js'
import type { BuiltRequest } from '../part.js'
import { LIBRARIES } from './channels.js'

/** Drivers that publish nothing, and what `observe` takes. */
const DRIVERS = [
  { name: 'pg', client: 'pool' },
  { name: 'postgres', client: 'sql' },
  { name: 'better-sqlite3', client: 'database' },
  { name: 'mongodb', client: 'client' }
]
/** Libraries whose earlier releases publish nothing. Mongoose sends its queries by mongodb. */
const PUBLISHERS = LIBRARIES.flatMap(({ name, since }) =>
  since === undefined || name === 'mongoose' ? [] : [{ name, since }])
/** The share of a request that waits for neither a query nor a call: from here on its page names the driver. */
const LEAST_SHARE = 0.2

export interface UnseenDriver { name: string, version: string, client?: string, since?: string }

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
  const found: UnseenDriver[] = []
  for (const driver of [...DRIVERS, ...PUBLISHERS]) {
    // A kind is named by its objects and their driver: `MongoClient of mongodb`.
    const isObserved = [...observedKinds].some((kind) => new RegExp(` of ${driver.name}(?:,|$)`).test(kind))
    if (isObserved) continue
    const isSeen = (version: string): boolean =>
      'since' in driver ? isSince(version, driver.since) : preparedDrivers.includes(`${driver.name} ${version}`)
    const version = attemptCall(() => loadedVersions(files, driver.name))?.find((version) => !isSeen(version))
    if (version !== undefined) found.push({ ...driver, version })
  }
  return found
}

/** Whether a version is a release or a later one. */
function isSince (version: string, release: string): boolean {
  return version.localeCompare(release, 'en', { numeric: true }) >= 0
}

/** The versions of a package that are loaded: copies of several may be. */
function loadedVersions (files: readonly string[], name: string): string[] {
  const folders = new Map(files.map((file) => [dirname(file), file]))
  return [...new Set([...folders.values()].flatMap((file) => versionOfFile(file, name) ?? []))]
}

/** That the queries of a driver are not recorded, and what records them. */
export function unseenSentence ({ name, version, client, since }: UnseenDriver): string {
  const problem = `${name} ${version} is loaded, and its queries are not recorded`
  if (since !== undefined) return `${problem}: use ${since} or later, which publishes them`
  const preload = '--import fastify-hindsight/register'
  const [, script = ''] = process.argv
  // These start the process themselves.
  const isStarted = /[\\/](?:fastify-cli|@nestjs)[\\/]|[\\/]\.bin[\\/](?:fastify|nest)$/.test(script)
  const start = isStarted ? `set NODE_OPTIONS to "${preload}"` : `start Node.js with ${preload}`
  return `${problem}: ${start}, or call observe(${client})`
}
