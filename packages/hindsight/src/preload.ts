import { subscribe } from 'node:diagnostics_channel'
import { realpathSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { preloadApplication } from './observe.js'
import { isOpening } from './page-server.js'
import { readPackageOptions } from './environment.js'
import { warnOnce } from './recording/trace.js'
import { withStackLimit } from './call.js'

/** The options of the preload. A variable that is not valid has no place in code. */
export const options = withStackLimit(0, readPackageOptions)
// It starts the application in another process, which has the preload, too.
if (isPackageManager()) options.debug = false

// The plugin in every application of the process, registered when it is made.
subscribe('fastify.initialization', (message) => {
  const { fastify } = message as { fastify: FastifyInstance }
  const { version } = fastify
  if (isOpening) return
  if (/^[56]\./.test(version)) preloadApplication(fastify, options)
  // The process may have another copy of Fastify, of another version.
  else warnOnce(`An application with Fastify ${version} is not observed: fastify-hindsight needs Fastify 5 or 6`)
})

/** Whether this is the process of npm, pnpm or yarn that runs a script. */
function isPackageManager (): boolean {
  const { argv: [, file], env: { npm_execpath: manager } } = process
  if (file === undefined || manager === undefined) return false
  try {
    return realpathSync(file) === realpathSync(manager)
  } catch {
    return false
  }
}
