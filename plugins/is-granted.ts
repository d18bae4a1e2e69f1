import type { FastifyReply, FastifyRequest } from 'fastify'
import { listener, Skip, type Answer } from '../lib/lifecycle/listener.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { routeConfigOf } from '../lib/lifecycle/request-state.js'
import { compileRequirements, type CompiledRequirement, type IsGranted } from '../lib/security/access-control.js'
import { openSecurity, type Security, type SecurityOptions } from '../lib/security/security.js'

const notConfigured = new Skip('not configured')
const errorPass = new Skip('not in an error pass')

/** Lets a request come to its handler only if the voters grant what the route asks for. */
export const isGranted = listener('kernel.controller_arguments', 'is-granted', async (
  app, options: SecurityOptions
) => {
  const security = await openSecurity(app, options)
  const requirements = new Map<unknown, CompiledRequirement[]>()
  app.addHook('onRoute', function compileIsGranted ({ method, url, config }) {
    const declared: unknown = config?.isGranted
    if (declared === undefined) return
    const where = `Route ${String(method)} ${url}: config.isGranted`
    if (security === null) throw new Error(`${where} needs the option security, which is not configured`)
    try {
      requirements.set(declared, compileRequirements(declared as IsGranted, url))
    } catch (error) {
      throw new Error(`${where} ${(error as Error).message}`, { cause: error })
    }
  })
  if (security === null) return 'not configured'
  const { refuse } = await import('../lib/security/guard.js')
  return (request, reply) => {
    const declared = routeConfigOf(request)?.isGranted
    if (declared === undefined) return notConfigured
    if (stateOf(request).pass === 'error') return errorPass
    // A route that was declared ahead of this listener is checked all the same.
    const { url = '' } = request.routeOptions
    return check(security, requirements.get(declared) ?? compileRequirements(declared, url), request, reply)
  }

  async function check (
    security: Security, required: CompiledRequirement[], request: FastifyRequest, reply: FastifyReply
  ): Promise<Answer | undefined> {
    const context = security.contextFor(request)
    for (const { attribute, subjectOf } of required) {
      if (!await security.isGranted(context, attribute, subjectOf(request), 'is-granted')) {
        return refuse(context, reply)
      }
    }
  }
})
