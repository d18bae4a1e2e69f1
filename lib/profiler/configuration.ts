import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Mode } from '../lifecycle/services.js'
import { require } from '../require.js'
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

/** An application of this process that has made profiles, and is not closed. */
interface RunningApplication {
  /** Several may be configured alike. */
  id: string
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
  const hindsight = ownVersion()
  let summary: ConfigurationSummary | undefined
  let isClosed = false

  function summarize (): ConfigurationSummary {
    const { node } = process.versions
    const shown = { node, fastify: app.version, hindsight, mode: process.env.NODE_ENV ?? '', lifecycle }
    // The name `session` would hide all of its options.
    const { session, ...others } = options as { session?: unknown }
    const text = JSON.stringify([shown, mask.value(others), mask.value(session), app.initialConfig])
    const id = createHash('sha256').update(text).digest('hex').slice(0, 12)
    const application = { id, collectors }
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

/** The collectors of the application with this configuration; none where it does not run in this process. */
export function collectorsOf (id: unknown): readonly Collector[] {
  return [...running].find((application) => application.id === id)?.collectors ?? []
}

/** The version of this package. */
export function ownVersion (): string {
  try {
    return (require('fastify-hindsight/package.json') as { version: string }).version
  } catch {
    // A bundler has moved this module out of its package.
    return 'unknown'
  }
}
