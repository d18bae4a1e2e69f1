import { listener } from '../lib/lifecycle/listener.js'
import { routeCheck } from '../lib/security/route-check.js'

/** Refuses requests for which the expression of the route is not true. */
export const securityExpression = listener('kernel.controller_arguments', 'security-expression', (
  app, options
) => routeCheck(app, options, 'security', async () => {
  const { compileExpression } = await import('../lib/security/expressions.js')
  return compileExpression
}))
