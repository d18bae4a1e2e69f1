import { listener, Skip } from '../lib/lifecycle/listener.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { routeConfigOf } from '../lib/lifecycle/request-state.js'
import { userOf } from '../lib/security/context.js'
import type { Expression } from '../lib/security/expressions.js'
import { openSecurity, type SecurityOptions } from '../lib/security/security.js'

const notConfigured = new Skip('not configured')
const errorPass = new Skip('not in an error pass')

/** Lets a request come to its handler only if the route's expression is true for it. */
export const securityExpression = listener('kernel.controller_arguments', 'security-expression', async (
  app, options: SecurityOptions
) => {
  const security = await openSecurity(app, options)
  const { compileExpression } = security === null
    ? { compileExpression: null }
    : await import('../lib/security/expressions.js')
  const expressions = new Map<string, Expression>()
  app.addHook('onRoute', function compileSecurity ({ method, url, config }) {
    const text: unknown = config?.security
    if (text === undefined) return
    const where = `Route ${String(method)} ${url}: config.security`
    if (typeof text !== 'string') throw new Error(`${where} is no expression`)
    if (compileExpression === null) throw new Error(`${where} needs the option security, which is not configured`)
    try {
      if (!expressions.has(text)) expressions.set(text, compileExpression(text))
    } catch (error) {
      throw new Error(`${where}: ${(error as Error).message}`, { cause: error })
    }
  })
  if (security === null || compileExpression === null) return 'not configured'
  const { refuse } = await import('../lib/security/guard.js')
  return (request, reply) => {
    const text = routeConfigOf(request)?.security
    if (text === undefined) return notConfigured
    if (stateOf(request).pass === 'error') return errorPass
    const context = security.contextFor(request)
    userOf(request)
    // A route that was declared ahead of this listener is checked all the same.
    const { result, error } = (expressions.get(text) ?? compileExpression(text))(request, context)
    context.record.expression = { expression: text, result, ...(error !== undefined && { error: error.message }) }
    if (!result) return refuse(context, reply, error)
  }
})
