import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Mode } from '../lifecycle/services.js'
import type { Mask } from '../mask/mask.js'
import { MASKED } from '../mask/mask.js'
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
}

/** The whole configuration of an application that runs in this process; it is not stored. */
export interface Configuration {
  summary: ConfigurationSummary
  versions: Record<string, string>
  dependencies: Record<string, string>
  plugins: string
  fastify: unknown
  hindsight: unknown
  environment: Record<string, string>
}

interface RunningApplication {
  configuration: () => Configuration
  collectors: readonly Collector[]
}

/** Applications by the ids of their configurations; several may be configured alike. */
const running = new Map<string, Set<RunningApplication>>()

/** Registers an application while it runs; the returned function makes the summary for its profiles. */
export function openConfiguration (
  app: FastifyInstance, options: object, collectors: readonly Collector[] = []
): () => ConfigurationSummary {
  const { mask, mode: lifecycle } = app.hindsight
  const hindsight = ownVersion()
  let summary: ConfigurationSummary | null = null
  let isClosed = false

  // The name `session` would hide all of its options.
  const shownOptions = (): unknown => {
    const { session, ...others } = options as { session?: unknown }
    return { ...mask.value(others) as object, ...(session !== undefined && { session: mask.value(session) }) }
  }

  function summarize (): ConfigurationSummary {
    if (summary !== null) return summary
    const { node } = process.versions
    const shown = { node, fastify: app.version, hindsight, mode: process.env.NODE_ENV ?? '', lifecycle }
    const text = JSON.stringify([shown, shownOptions(), app.initialConfig])
    const id = createHash('sha256').update(text).digest('hex').slice(0, 12)
    summary = { id, ...shown }
    // The last profiles may be built after the application was closed.
    if (!isClosed) running.set(id, (running.get(id) ?? new Set()).add(application))
    return summary
  }

  function configuration (): Configuration {
    const { node, v8, uv, openssl, undici } = process.versions
    const versions = { node, v8, uv, openssl, ...(undici !== undefined && { undici }), fastify: app.version, hindsight }
    return {
      summary: summarize(),
      versions: { ...versions, platform: `${process.platform} ${process.arch}` },
      dependencies: dependencyVersions(),
      plugins: mask.text(app.printPlugins()),
      fastify: mask.value(app.initialConfig),
      hindsight: shownOptions(),
      environment: shownEnvironment(process.env, mask)
    }
  }

  const application: RunningApplication = { configuration, collectors }
  app.hindsight.closing.push(() => {
    isClosed = true
    const { id = '' } = summary ?? {}
    running.get(id)?.delete(application)
    if (running.get(id)?.size === 0) running.delete(id)
  })
  return summarize
}

/** The whole configuration with an id; null where no application of this process has it. */
export function configurationOf (id: unknown): Configuration | null {
  return applicationOf(id)?.configuration() ?? null
}

/** The collectors of the application with this configuration; none where it does not run in this process. */
export function collectorsOf (id: unknown): readonly Collector[] {
  return applicationOf(id)?.collectors ?? []
}

function applicationOf (id: unknown): RunningApplication | undefined {
  const [application] = running.get(String(id)) ?? []
  return application
}

// Beside the names that are masked everywhere: names as short as these would hide too much elsewhere.
const SECRET_NAME = /(?:^|_)(?:KEYS?|SALT|SEED|CERT|WEBHOOK)(?:_|$)/i
/** Values that look random: long, of one piece, letters and digits mixed. */
const RANDOM = /^(?=.*\d)(?=.*[a-z])[\w+/=.~-]{24,}$/i
const PATH_OR_VERSION = /^(?:\.{0,2}\/|[A-Za-z]:\\)|[:/]\S*\/|\.(?:[cm]?[jt]s|json|sock|pem|crt|sh)$|^\d+(?:\.\d+)+/

/** The environment of the process; values of secret names, and values that look like secrets, are masked. */
export function shownEnvironment (env: NodeJS.ProcessEnv, mask: Mask): Record<string, string> {
  const shown = (name: string, value: string): string => {
    if (value === '') return ''
    if (mask.hides(name) || SECRET_NAME.test(name)) return MASKED
    return RANDOM.test(value) && !PATH_OR_VERSION.test(value) ? MASKED : mask.text(value.slice(0, 2_000))
  }
  return Object.fromEntries(Object.entries(env)
    .flatMap(([name, value]) => value === undefined ? [] : [[mask.text(name), shown(name, value)] as const])
    .sort(([a], [b]) => a < b ? -1 : 1))
}

const require = createRequire(import.meta.url)

interface Manifest {
  version?: string
  dependencies?: Record<string, string>
}

/** The version of this package. */
export function ownVersion (): string {
  return ownManifest().version ?? 'unknown'
}

/** The versions of its dependencies as they are installed. */
export function dependencyVersions (): Record<string, string> {
  return Object.fromEntries(Object.keys(ownManifest().dependencies ?? {}).map((name) => {
    // Packages need not export their manifest.
    const folders = require.resolve.paths(name) ?? []
    const file = folders.map((folder) => join(folder, name, 'package.json')).find((path) => existsSync(path))
    if (file === undefined) return [name, 'not installed']
    return [name, (JSON.parse(readFileSync(file, 'utf8')) as Manifest).version ?? 'unknown']
  }))
}

function ownManifest (): Manifest {
  try {
    return require('fastify-hindsight/package.json') as Manifest
  } catch {
    // A bundler has moved this module out of its package.
    return {}
  }
}
