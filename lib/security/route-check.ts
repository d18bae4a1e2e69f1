import type { FastifyInstance, FastifyReply } from 'fastify'
import { type RouteConfig, routeConfigOf } from 'fastify-hindsight/recorder'
import { stateOf } from '../state.js'
import { Skip, type Answer, type RequestHook, notConfigured } from '../listener.js'
import type { SecurityContext } from './context.js'

/** The compiled check of a route: whether a request may reach the handler. */
export type Check = (context: SecurityContext) => boolean | Promise<boolean>

type Compile<Name extends 'security' | 'isGranted'> = (declared: NonNullable<RouteConfig[Name]>, url: string) => Check

const errorPass = new Skip('not in an error pass')

/** Makes the listener of an attribute that is checked before the handler. `load` returns the compiler of its values. */
export async function routeCheck<Name extends 'security' | 'isGranted'> (
  app: FastifyInstance, name: Name, load: () => Compile<Name> | Promise<Compile<Name>>
): Promise<RequestHook | string> {
  const { security } = app.service
  const compile = security === undefined ? null : await load()
  const checks = new Map<unknown, Check>()
  app.addHook('onRoute', function compileRouteCheck ({ method, url, config }) {
    const declared = (config as RouteConfig | undefined)?.[name]
    if (declared === undefined) return
    const where = `Route ${String(method)} ${url}: config.${name}`
    if (compile === null) throw new Error(`${where} needs the option security, which is not configured`)
    try {
      checks.set(declared, compile(declared, url))
    } catch (error) {
      throw new Error(`${where}: ${(error as Error).message}`, { cause: error })
    }
  })
  if (security === undefined || compile === null) return 'not configured'
  const { refuseRequest } = await import('./guard.js')
  async function enforce (check: Check, context: SecurityContext, reply: FastifyReply): Promise<Answer | undefined> {
    if (!await check(context)) return refuseRequest(context, reply)
  }
  return (request, reply) => {
    const declared = routeConfigOf(request)?.[name]
    if (declared === undefined) return notConfigured
    if (stateOf(request).pass === 'error') return errorPass
    // A route that was declared before this listener is checked, too.
    const check = checks.get(declared) ?? compile(declared, request.routeOptions.url ?? '')
    return enforce(check, security.contextFor(request), reply)
  }
}
