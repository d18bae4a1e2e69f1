import { listener } from '../kernel/listener.js'

/** The security-expression listener of `kernel.controller_arguments`: nothing configures it yet. */
export const securityExpression = listener('kernel.controller_arguments', 'security-expression', () => 'not configured')
