import { traceOf } from 'fastify-hindsight/recorder'
import { defineListener } from '../lib/listener.js'
import { userOf } from '../lib/security/context.js'
import { routeCheck, type Check } from '../lib/security/route-check.js'

/** Refuses requests for which the expression of the route is not true. */
export const securityExpression = defineListener('kernel.controller_arguments', 'security-expression', (app) =>
  routeCheck(app, 'security', async () => {
    const environment = await loadLanguage()
    return (text) => compileExpression(environment, text)
  }))

/** Loads the Common Expression Language (cel.dev): no unbounded loops, no access to the process, no assignments. */
async function loadLanguage () {
  const { Environment } = await import('@marcbachmann/cel-js')
  return new Environment({ enableOptionalTypes: true })
    .registerVariable('user', 'dyn', { description: 'identifier, roles and attributes; null without a user' })
    .registerVariable('roles', 'list<string>', { description: "the user's roles, with inherited ones" })
    .registerVariable('params', 'map<string, dyn>', { description: 'path parameters, converted' })
    .registerVariable({
      name: 'request',
      schema: {
        method: 'string',
        path: 'string',
        ip: 'string',
        host: 'string',
        scheme: 'string',
        headers: 'map<string, dyn>',
        query: 'map<string, dyn>'
      }
    })
}

/** Functions that take exponential or cubic time for some texts, which clients may send. */
const SLOW_FUNCTION = /\b(?:matches|duration)(?=\s*\()/

/** Compiles an expression; throws if it is invalid, uses an unknown name, or does not return a boolean. */
function compileExpression (environment: Awaited<ReturnType<typeof loadLanguage>>, text: string): Check {
  const slow = SLOW_FUNCTION.exec(text)
  if (slow !== null) throw new Error(`The function ${slow[0]} is not available`)
  const evaluate = environment.parse(text)
  const { valid, type, error } = evaluate.check()
  if (!valid) throw error ?? new Error('The expression has no type')
  if (!['bool', 'dyn'].includes(String(type))) throw new Error(`The expression returns ${String(type)}, not bool`)
  return (context) => {
    const { request, roles, path } = context
    const { ip, host, scheme } = traceOf(request).services.originOf(request)
    const { method, headers, params, query } = request
    try {
      const message = { method, path, ip, host, scheme, headers, query }
      const result = evaluate(celValue({ user: userOf(request), roles, params, request: message })) === true
      context.expression = { expression: text, result }
      return result
    } catch (raised) {
      // An expression that cannot be evaluated is not true.
      const error = raised instanceof Error ? raised : new Error(String(raised))
      const reason = error.message.split('\n')[0]
      request.log.warn({ channel: 'security', expression: text, reason }, 'Expression cannot be evaluated.')
      context.expression = { expression: text, result: false, error }
      return false
    }
  }
}

/** A copy, as JSON, with whole numbers as integers of CEL: other numbers are doubles, which integers do not add to. */
function celValue (value: object): Record<string, unknown> {
  const json = JSON.stringify(value, (_key, member: unknown) => typeof member === 'bigint' ? Number(member) : member)
  return JSON.parse(json, (_key, member: unknown) =>
    Number.isSafeInteger(member) ? BigInt(member as number) : member) as Record<string, unknown>
}
