import { listener } from '../lib/lifecycle/listener.js'
import { userOf } from '../lib/security/context.js'
import { routeCheck } from '../lib/security/route-check.js'
import type { SecurityOptions } from '../lib/security/security.js'

/** Refuses requests for which the expression of the route is not true. */
export const securityExpression = listener('kernel.controller_arguments', 'security-expression', (
  app, options: SecurityOptions
) => routeCheck(app, options, 'security', async () => {
  const { compileExpression } = await import('../lib/security/expressions.js')
  return (expression) => {
    const evaluate = compileExpression(expression)
    return (context) => {
      // The response depends on the user, and so is private.
      userOf(context.request)
      const { result, error } = evaluate(context)
      context.expression = { expression, result, ...(error !== undefined && { error: error.message }) }
      return { granted: result, error }
    }
  }
}))
