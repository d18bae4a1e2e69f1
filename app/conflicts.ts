import type { FastifyInstance } from 'fastify'
import { lifecycle } from './lifecycle.js'
import type { HindsightOptions } from '../lib/options.js'

/** The listeners that the others depend on: without them no request can be recorded. */
const ESSENTIAL: ReadonlySet<string> = new Set([
  'debug-handlers', 'router', 'router-data-collector', 'request-data-collector', 'error', 'profiler',
  'error-csp-removal'
])

/** The listeners that can be left to the application, in their order. */
export const LEAVABLE: readonly string[] =
  [...new Set(Object.values(lifecycle).flat().map(({ listener }) => listener))].filter((name) => !ESSENTIAL.has(name))

/** Stops the start at a name that cannot be left to the application. */
export function checkLeave (names: readonly string[] = []): void {
  const i = names.findIndex((name) => !LEAVABLE.includes(name))
  if (i === -1) return
  const known = LEAVABLE.join(', ')
  throw new Error(`Option "leave[${i}]": "${names[i]}" is no listener that can be left to the application: ${known}`)
}

interface Conflict {
  plugin: string
  /** What has the same purpose in Hindsight. */
  does: string
  /** What has to be set so that only the application's plugin does it. */
  remedy: string
  isConfigured: (options: HindsightOptions) => boolean
}

const HELMET = ['content-security-policy', 'clickjacking', 'xss-protection', 'referrer-policy', 'content-type']

const CONFLICTS: readonly Conflict[] = [
  {
    plugin: '@fastify/cors',
    does: 'the option cors',
    remedy: 'Remove one of them',
    isConfigured: ({ cors }) => cors !== undefined && cors.length > 0
  },
  ...['@fastify/session', '@fastify/secure-session'].map((plugin) => ({
    plugin,
    does: 'the option session',
    remedy: 'Set session: false, or remove the plugin',
    isConfigured: ({ session = false }: HindsightOptions) => session !== false
  })),
  {
    plugin: '@fastify/helmet',
    does: 'the listeners of security headers',
    remedy: `Leave them to the plugin (leave: ['${HELMET.join("', '")}']), or remove it`,
    isConfigured: ({ leave = [] }) => HELMET.some((listener) => !leave.includes(listener))
  }
]

/**
 * Stops the start of an application in `full` mode that registers a plugin which does what a listener does: before
 * Hindsight, or in a plugin of its own. A plugin that is registered beside Hindsight afterwards is refused by Fastify
 * where both decorate the same names.
 */
export function checkConflicts (app: FastifyInstance, options: HindsightOptions): void {
  const configured = CONFLICTS.filter(({ isConfigured }) => isConfigured(options))
  for (const conflict of configured) if (app.hasPlugin(conflict.plugin)) throw conflictError(conflict)
  const children: FastifyInstance[] = []
  app.addHook('onRegister', function rememberChild (child) { children.push(child) })
  app.addHook('onReady', function checkPlugins (done) {
    const found = configured.find(({ plugin }) => [app, ...children].some((instance) => instance.hasPlugin(plugin)))
    done(found === undefined ? undefined : conflictError(found))
  })
}

function conflictError ({ plugin, does, remedy }: Conflict): Error {
  return new Error(`${plugin} and ${does} of fastify-hindsight (lifecycle: 'full') do the same. ${remedy}.`)
}
