import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import type { FastifyInstance } from 'fastify'
import type { Mode } from '../lifecycle/services.js'
import { applicationFolder, dependenciesOf, revisionOf } from './code-versions.js'
import type { Collector } from './collector.js'

/** The configuration as each profile has it: enough to distinguish two configurations. */
export interface ConfigurationSummary {
  /** The same for the same versions and options. */
  id: string
  node: string
  fastify: string
  hindsight: string
  /** `NODE_ENV`, or empty. */
  mode: string
  lifecycle: Mode
  /** The git revision of the application when it started, in debug mode. */
  revision?: string
  /** The installed direct dependencies of the application in debug mode, `name@version`, separated by spaces. */
  dependencies?: string
}

/** The whole configuration of an application that runs in this process, masked; it is not stored. */
export interface Configuration {
  versions: Record<string, string>
  plugins: string
  fastify: unknown
  hindsight: unknown
}

/** An application of this process that has made profiles, and is not closed. */
interface RunningApplication {
  /** Several may be configured alike. */
  id: string
  configuration: () => Configuration
  collectors: readonly Collector[]
}

const running = new Set<RunningApplication>()

/** Returns the function that makes the summary for the profiles of an application. */
export function openConfiguration (
  app: FastifyInstance, options: object, collectors: readonly Collector[] = []
): () => ConfigurationSummary {
  const { mask, mode: lifecycle, closing, debug } = app.hindsight
  const folder = applicationFolder()
  // Later the folder may have another one than the code that was loaded.
  const revision = debug ? revisionOf(folder) : undefined
  const { node, v8, uv, openssl } = process.versions
  const hindsight = ownVersion()
  const platform = `${process.platform} ${process.arch}`
  let summary: ConfigurationSummary | undefined
  let isClosed = false

  // The name `session` would hide all of its options.
  const shownOptions = (): unknown => {
    const { session, ...others } = options as { session?: unknown }
    return { ...mask.value(others) as object, ...(session !== undefined && { session: mask.value(session) }) }
  }

  const configuration = (): Configuration => ({
    versions: { node, v8, uv, openssl, fastify: app.version, hindsight, platform },
    plugins: mask.text(app.printPlugins()),
    fastify: mask.value(app.initialConfig),
    hindsight: shownOptions()
  })

  function summarize (): ConfigurationSummary {
    const shown = { node, fastify: app.version, hindsight, mode: process.env.NODE_ENV ?? '', lifecycle }
    const text = JSON.stringify([shown, shownOptions(), app.initialConfig])
    const id = createHash('sha256').update(text).digest('hex').slice(0, 12)
    const application = { id, configuration, collectors }
    // The last profiles may be built after the application was closed.
    if (!isClosed) {
      running.add(application)
      closing.push(() => { running.delete(application) })
    }
    const dependencies = debug ? dependenciesOf(folder).join(' ') : ''
    return { id, ...shown, ...revision !== undefined && { revision }, ...dependencies !== '' && { dependencies } }
  }

  closing.push(() => { isClosed = true })
  return () => (summary ??= summarize())
}

/** The whole configuration with an id; null where no application of this process has it. */
export function configurationOf (id: unknown): Configuration | null {
  return applicationOf(id)?.configuration() ?? null
}

/** The collectors of the application with this configuration; none where it does not run in this process. */
export function collectorsOf (id: unknown): readonly Collector[] {
  return applicationOf(id)?.collectors ?? []
}

function applicationOf (wanted: unknown): RunningApplication | undefined {
  return [...running].find(({ id }) => id === wanted)
}

/** The version of this package. */
export function ownVersion (): string {
  try {
    const require = createRequire(import.meta.url)
    return (require('fastify-hindsight/package.json') as { version: string }).version
  } catch {
    // A bundler has moved this module out of its package.
    return 'unknown'
  }
}
