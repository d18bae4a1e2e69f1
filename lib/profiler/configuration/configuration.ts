import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Mode } from '../../lifecycle/services.js'
import type { Collector } from '../collector.js'
import { shownEnvironment } from './environment.js'
import { ownVersions } from './versions.js'

/** What each profile says of its application: enough to tell two of them apart. */
export interface ConfigurationSummary {
  /** The same for the same versions and options. */
  id: string
  node: string
  fastify: string
  hindsight: string
  /** `NODE_ENV`, or empty. */
  mode: string
  /** Whether the application is only observed, or runs the documented lifecycle. */
  lifecycle: Mode
}

/** All there is to know of an application that runs in this process; nothing of it is stored. */
export interface Configuration {
  summary: ConfigurationSummary
  versions: Record<string, string>
  dependencies: Record<string, string>
  plugins: string
  fastify: unknown
  hindsight: unknown
  environment: Record<string, string>
}

interface Live {
  whole: () => Configuration
  collectors: readonly Collector[]
}

// Several applications of one process may be configured alike.
const live = new Map<string, Set<Live>>()

/** Takes down the configuration of an application, once; what costs more is only read when somebody looks. */
export function openConfiguration (app: FastifyInstance, options: object, collectors: readonly Collector[] = []): () => ConfigurationSummary {
  const { mask } = app.hindsight
  let summary: ConfigurationSummary | null = null
  const own = ownVersions()
  // Under its own name the whole of it would be hidden.
  const shownOptions = (): unknown => {
    const { session, ...rest } = options as { session?: unknown }
    return { ...mask.value(rest) as object, ...(session !== undefined && { session: mask.value(session) }) }
  }

  function summarise (): ConfigurationSummary {
    if (summary !== null) return summary
    const told = { node: process.versions.node, fastify: app.version, hindsight: own.version, mode: process.env.NODE_ENV ?? '', lifecycle: app.hindsight.mode }
    const id = createHash('sha256').update(JSON.stringify([told, shownOptions(), app.initialConfig])).digest('hex').slice(0, 12)
    summary = { id, ...told }
    // The last profiles may be built when the application is closed already.
    if (!isClosed) live.set(id, (live.get(id) ?? new Set()).add(entry))
    return summary
  }

  function whole (): Configuration {
    const { node, v8, uv, openssl, undici } = process.versions
    return {
      summary: summarise(),
      versions: {
        node, v8, uv, openssl, ...(undici !== undefined && { undici }), fastify: app.version, hindsight: own.version, platform: `${process.platform} ${process.arch}`
      },
      dependencies: own.dependencies(),
      plugins: mask.text(app.printPlugins()),
      fastify: mask.value(app.initialConfig),
      hindsight: shownOptions(),
      environment: shownEnvironment(process.env, mask)
    }
  }

  const entry: Live = { whole, collectors }
  let isClosed = false
  app.hindsight.closing.push(() => {
    isClosed = true
    const alike = summary === null ? undefined : live.get(summary.id)
    alike?.delete(entry)
    if (summary !== null && alike?.size === 0) live.delete(summary.id)
  })
  return summarise
}

/** The whole configuration of an application of this process; null where none that runs has it. */
export function configurationOf (id: unknown): Configuration | null {
  return entryOf(id)?.whole() ?? null
}

/** The collectors of the application whose configuration this is; none where it does not run in this process. */
export function collectorsOf (id: unknown): readonly Collector[] {
  return entryOf(id)?.collectors ?? []
}

function entryOf (id: unknown): Live | undefined {
  const [entry] = typeof id === 'string' ? live.get(id) ?? [] : []
  return entry
}
